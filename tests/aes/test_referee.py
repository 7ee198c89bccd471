"""The referee: whatever a play does, one Episode comes of it, in bounded time, and nothing is left behind."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from aes import Config, Episode, Policy
from aes.engine.fake import FakeEngine
from aes.errors import EngineError
from aes.referee import GRACE_S, Referee
from aes.types import Failure, Member

Play = Callable[[], Awaitable[Any]]

GOOD = Episode(0.5, True, 1, 1)


class Playing:
    """A task whose play is one function."""

    name, train_goals, eval_goals = "playing", range(5), range(5)
    fingerprint: dict[str, str] = {}  # noqa: RUF012

    def __init__(self, play: Play) -> None:
        self._play = play

    async def play(self, policy: Policy, goal: Any, seed: int) -> Episode:
        episode: Episode = await self._play()
        return episode


async def once(play: Play, **changes: Any) -> Episode:
    """One try, unless `changes` say otherwise; no task may be left."""
    engine, before = FakeEngine(), asyncio.all_tasks()
    config = Config.parse({"retries": 0, "episode_seconds": 60, **changes})
    async with Referee(Playing(play), engine, config) as referee, engine.seat(Member(0)) as seat:
        try:
            return await referee.play(seat, 0, 0)
        finally:
            assert asyncio.all_tasks() == before


def raising(error: BaseException) -> Play:
    async def play() -> Any:
        raise error

    return play


async def for_ever() -> Any:
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    "error",
    [KeyError("x"), TimeoutError(), asyncio.CancelledError(), GeneratorExit(), BaseException("a panic of a library")],
)
async def test_what_a_play_raises_is_a_failed_episode(error: BaseException) -> None:
    episode = await once(raising(error))
    assert episode.failure is not None
    assert episode.failure.kind == "environment"
    assert episode.failure.reason.startswith(type(error).__name__)
    assert "aes/test_referee.py:" in episode.failure.reason or isinstance(error, asyncio.CancelledError)


async def test_a_lost_engine_is_not_an_episodes_business() -> None:
    lost = EngineError("gone")
    for error in (lost, ExceptionGroup("users", [ValueError("first"), ExceptionGroup("deep", [lost])])):
        with pytest.raises(EngineError) as caught:
            await once(raising(error))
        assert caught.value is lost


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("grouped", [False, True])
def test_what_ends_a_program_passes(kind: type[BaseException], grouped: bool) -> None:
    error = BaseExceptionGroup("g", [ValueError("x"), kind()]) if grouped else kind()
    with asyncio.Runner() as runner, pytest.raises(kind):
        runner.run(once(raising(error)))


async def test_our_own_cancellation_passes() -> None:
    task = asyncio.create_task(once(for_ever))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_play_that_is_no_coroutine_is_a_failed_episode() -> None:
    episode = await once(lambda: GOOD)  # type: ignore[arg-type, return-value]
    assert episode.failure is not None
    assert episode.failure.reason.startswith("TypeError: object Episode can't be used in 'await' expression")


async def test_a_play_may_cancel_itself_and_only_itself() -> None:
    async def play() -> Any:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    episode = await once(play)
    assert episode.failure is not None
    assert episode.failure.kind == "environment"
    assert episode.failure.reason.startswith("CancelledError (at aes/test_referee.py:")


async def test_a_play_that_is_cancelled_and_still_ends_well_is_a_good_one() -> None:
    async def play() -> Any:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        try:
            await asyncio.sleep(1)
        except asyncio.CancelledError:
            return GOOD

    assert await once(play) == GOOD


# Tries


@pytest.mark.parametrize(
    ("kind", "tries"),
    [
        ("environment", 3), ("timeout", 3), ("generation", 3), ("engine", 3),
        ("context", 1), ("fitness", 1), ("result", 1),
    ],
)  # fmt: skip
async def test_what_another_try_may_escape_is_tried_again(kind: Any, tries: int) -> None:
    played = 0

    async def play() -> Any:
        nonlocal played
        played += 1
        return Episode(0, False, 0, 0, failure=Failure(kind, "x"))

    await once(play, retries=2)
    assert played == tries


async def test_a_good_try_ends_it() -> None:
    results = iter([Episode(0, False, 0, 0, failure=Failure("environment", "x")), GOOD, None])

    async def play() -> Any:
        return next(results)

    assert await once(play, retries=5) == GOOD


# Time


def timed_out(episode: Episode) -> str:
    assert episode.failure is not None
    assert episode.failure.kind == "timeout"
    return episode.failure.reason


def test_a_play_that_hangs_is_ended_at_the_limit(virtual: Any) -> None:
    async def main() -> tuple[Episode, float]:
        return await once(for_ever), asyncio.get_running_loop().time()

    episode, seconds = virtual(main())
    line = for_ever.__code__.co_firstlineno + 1
    assert timed_out(episode) == f"not over after 60 s (episode_seconds) (at aes/test_referee.py:{line})"
    assert seconds == pytest.approx(60)


@pytest.mark.parametrize("limit", [None, 0])
def test_without_a_limit_it_may_take_for_ever(virtual: Any, limit: float | None) -> None:
    async def play() -> Any:
        await asyncio.sleep(1e6)
        return GOOD

    assert virtual(once(play, episode_seconds=limit)) == GOOD


def test_a_play_has_time_to_clean_up(virtual: Any) -> None:
    cleaned = []

    async def play() -> Any:
        try:
            await asyncio.sleep(1e6)
        finally:
            await asyncio.sleep(GRACE_S / 2)
            cleaned.append(True)

    timed_out(virtual(once(play)))
    assert cleaned


def test_what_is_returned_or_raised_too_late_does_not_count(virtual: Any) -> None:
    async def late() -> Any:
        try:
            await asyncio.sleep(1e6)
        except asyncio.CancelledError:
            return GOOD

    async def angry() -> Any:
        try:
            await asyncio.sleep(1e6)
        finally:
            raise ValueError("during the clean-up")

    for play in (late, angry):
        timed_out(virtual(once(play)))


def test_a_lost_engine_is_heard_of_even_after_the_limit(virtual: Any) -> None:
    async def play() -> Any:
        try:
            await asyncio.sleep(1e6)
        finally:
            raise EngineError("gone")

    with pytest.raises(EngineError, match="gone"):
        virtual(once(play))


def stubborn(swallowed: list[str]) -> Play:
    """A play that takes every cancellation for a fault of the network, and goes on."""

    async def play() -> Any:
        while True:
            try:
                await asyncio.sleep(3600)
            except (Exception, asyncio.CancelledError) as error:
                swallowed.append(type(error).__name__)

    return play


def test_a_play_that_ignores_its_cancellation_is_given_up(virtual: Any) -> None:
    swallowed: list[str] = []

    async def main() -> tuple[Episode, float]:
        return await once(stubborn(swallowed)), asyncio.get_running_loop().time()

    episode, seconds = virtual(main())
    timed_out(episode)
    assert swallowed == ["CancelledError"]
    assert seconds == pytest.approx(60 + GRACE_S)


@pytest.mark.parametrize(("again", "seconds"), [(False, 5 + GRACE_S), (True, 6)])
def test_leaving_waits_for_a_stubborn_play_only_so_long(virtual: Any, again: bool, seconds: float) -> None:
    """A second cancellation is not waited for at all."""

    async def main() -> float:
        task = asyncio.create_task(once(stubborn([])))
        await asyncio.sleep(5)
        task.cancel()
        if again:
            await asyncio.sleep(1)
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return asyncio.get_running_loop().time()

    assert virtual(main()) == pytest.approx(seconds)


def test_a_play_that_waits_for_a_stubborn_task_of_its_own_is_left_waiting(virtual: Any) -> None:
    released = asyncio.Event()

    async def child() -> None:
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue

    async def play() -> Any:
        await asyncio.create_task(child())
        raise AssertionError("it was run any further")

    async def main() -> float:
        engine, config = FakeEngine(), Config(retries=0, episode_seconds=60)
        async with Referee(Playing(play), engine, config) as referee, engine.seat(Member(0)) as seat:
            timed_out(await referee.play(seat, 0, 0))
        seconds = asyncio.get_running_loop().time()
        released.set()
        await asyncio.sleep(1)
        return seconds

    assert virtual(main()) == pytest.approx(60 + GRACE_S + 1)


def test_an_error_in_a_cancelled_play_is_not_reported_by_asyncio(virtual: Any) -> None:
    async def play() -> Any:
        try:
            await asyncio.sleep(1e6)
        finally:
            raise ValueError("during the clean-up")

    async def main() -> list[Any]:
        reported: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
        task = asyncio.create_task(once(play))
        await asyncio.sleep(5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        del task
        import gc

        gc.collect()
        return reported

    assert virtual(main()) == []
