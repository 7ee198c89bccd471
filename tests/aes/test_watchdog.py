"""The watchdog: code that never awaits is stopped where it computes, and nothing else ever is."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from aes import ChatTask, Config, Episode, Run
from aes.engine.fake import FakeEngine
from aes.errors import EngineError
from aes.events import EpisodeFailed, Updated
from aes.referee import Referee
from aes.types import Member
from aes.watchdog import EpisodeTimeout, Watchdog, Watched
from tests.aes.test_referee import GOOD, Playing, once

LIMIT = 0.1


def spin(seconds: float = 20.0) -> None:
    """Compute; far longer than any limit here, so that a test which nobody stops fails."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def reason(episode: Episode) -> str:
    assert episode.failure is not None
    assert episode.failure.kind == "timeout"
    return episode.failure.reason


async def test_a_play_that_only_computes_is_stopped_and_its_place_named() -> None:
    async def play() -> Any:
        spin()

    began = time.monotonic()
    episode = await once(play, episode_seconds=LIMIT)
    assert time.monotonic() - began < 5
    first = spin.__code__.co_firstlineno
    places = [f"(at aes/test_watchdog.py:{line})" for line in range(first, first + 6)]
    assert reason(episode).startswith("computed for 0.1 s without an await (episode_seconds)")
    assert any(place in reason(episode) for place in places)


async def test_a_library_is_not_blamed_for_who_calls_it() -> None:
    import heapq

    async def play() -> Any:
        for _ in heapq.merge(iter(int, 1), iter(int, 1)):
            pass

    said, first = reason(await once(play, episode_seconds=LIMIT)), play.__code__.co_firstlineno
    assert said.endswith((f"(at aes/test_watchdog.py:{first + 1})", f"(at aes/test_watchdog.py:{first + 2})"))


async def test_time_spent_waiting_is_not_computing() -> None:
    """Ten steps that are each below the limit are over it together: that is the loop's to find."""

    async def play() -> Any:
        for _ in range(10):
            spin(LIMIT / 4)
            await asyncio.sleep(0)
        return GOOD

    assert reason(await once(play, episode_seconds=LIMIT)).startswith("not over after 0.1 s")


async def test_what_others_have_held_up_is_not_held_against_a_play() -> None:
    """Else one play that computes for ever would cost all that are under way, and again when it is tried again."""

    async def patient() -> Any:
        await asyncio.sleep(LIMIT / 2)
        return GOOD

    class Mixed(Playing):
        async def play(self, policy: Any, goal: Any, seed: int) -> Episode:
            if goal == 0:
                spin()
            return await super().play(policy, goal, seed)

    engine = FakeEngine()
    config = Config(retries=0, episode_seconds=LIMIT)
    async with Referee(Mixed(patient), engine, config) as referee, engine.seat(Member(0)) as seat:
        failing, *others = await asyncio.gather(*(referee.play(seat, goal, 0) for goal in (0, 1, 2)))
    assert reason(failing).startswith("computed for")
    assert others == [GOOD, GOOD]


async def test_a_play_can_clean_up_and_its_own_errors_change_nothing() -> None:
    cleaned = []

    async def tidy() -> Any:
        try:
            spin()
        finally:
            await asyncio.sleep(0)
            cleaned.append(True)

    async def confused() -> Any:
        try:
            spin()
        except EpisodeTimeout as error:
            raise ValueError("something else") from error

    for play in (tidy, confused):
        assert reason(await once(play, episode_seconds=LIMIT)).startswith("computed for")
    assert cleaned


async def test_whoever_goes_on_regardless_is_stopped_again() -> None:
    swallowed = []

    async def play() -> Any:
        while True:
            try:
                spin()
            except BaseException as error:
                swallowed.append(type(error))
                if len(swallowed) == 3:
                    return GOOD

    assert reason(await once(play, episode_seconds=LIMIT)).startswith("computed for")
    assert swallowed == [EpisodeTimeout] * 3


async def test_except_exception_does_not_catch_it() -> None:
    async def play() -> Any:
        while True:
            try:
                spin()
            except Exception:
                continue

    began = time.monotonic()
    reason(await once(play, episode_seconds=LIMIT))
    assert time.monotonic() - began < 5


async def test_a_lost_engine_is_heard_of_all_the_same() -> None:
    async def play() -> Any:
        try:
            spin()
        finally:
            raise EngineError("gone")

    with pytest.raises(EngineError, match="gone"):
        await once(play, episode_seconds=LIMIT)


async def test_nothing_but_a_play_is_stopped() -> None:
    """The loop is held up by code that is none of a play's: outside of it nobody knows what may be interrupted."""

    async def play() -> Any:
        await asyncio.sleep(LIMIT / 4)
        return GOOD

    playing = asyncio.create_task(once(play, episode_seconds=LIMIT))
    await asyncio.sleep(0)
    spin(3 * LIMIT)
    assert reason(await playing).startswith("not over after")


@pytest.mark.parametrize("how", ["returns", "raises", "awaits"])
def test_a_step_that_ends_as_it_is_stopped_ends_nobody_else(how: str) -> None:
    """The exception strikes in the step, at the latest as it ends; whatever runs after it is never hit."""

    class Eager(Watchdog):
        """Stops every step at its very end, just before it could not be stopped any more."""

        def leave(self, watched: Watched[Any]) -> None:
            with self._lock:
                if self._running is not None and self._running.stopped_at is None:
                    self._stop(self._running)
            super().leave(watched)

    async def play() -> str:
        if how == "raises":
            raise ValueError("x")
        if how == "awaits":
            await asyncio.sleep(0)
        return "done"

    async def main() -> None:
        with Eager(None) as watchdog:
            for _ in range(200):
                task = asyncio.create_task(Watched(play(), watchdog))
                (result,) = await asyncio.gather(task, return_exceptions=True)
                assert isinstance(result, (str, ValueError, EpisodeTimeout))
                spin(0.0001)

    asyncio.run(main())


@pytest.fixture
def restless() -> Iterator[None]:
    """Threads take turns fifty times as often as usual."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("restless")
def test_a_step_cannot_end_while_it_is_being_stopped() -> None:
    class Slow(Watchdog):
        """Hesitates between finding a step and stopping it."""

        def _stop(self, watched: Watched[Any]) -> None:
            time.sleep(0.01)
            super()._stop(watched)

    async def play(seconds: float) -> None:
        spin(seconds)

    async def main() -> int:
        stopped = 0
        with Slow(0.002) as watchdog:
            for number in range(20):
                watched = Watched(play(0.005 * (1 + number % 4)), watchdog)
                await asyncio.wait([asyncio.create_task(watched)])
                stopped += watched.stopped_at is not None
                spin(0.005)
        return stopped

    assert asyncio.run(main()) > 0


@pytest.mark.usefixtures("restless")
def test_steps_at_the_limit_never_hit_what_runs_beside_them() -> None:
    """A storm of steps about as long as the limit: each ends in time or is stopped; the loop's own code never is."""
    errors: list[Any] = []

    async def play(seconds: float) -> None:
        spin(seconds)
        await asyncio.sleep(0)
        spin(seconds)

    async def main() -> int:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context))
        stopped = 0
        with Watchdog(0.004) as watchdog:
            for number in range(80):
                task = asyncio.create_task(Watched(play(0.003 + (number % 10) * 0.0003), watchdog))
                await asyncio.wait([task])
                stopped += task.cancelled()
        return stopped

    assert asyncio.run(main()) > 0
    assert errors == []


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("aes")]


def test_a_run_has_one_thread_and_none_without_a_limit(shelf: ChatTask, virtual: Any) -> None:
    async def main(limit: float | None) -> list[str]:
        config = Config(updates=2, pairs=2, goals=2, eval_goals=0, episode_seconds=limit)
        async with FakeEngine() as engine, Run(shelf, engine, config) as run:
            names = threads()
            await run.wait()
        return names

    assert virtual(main(60)) == ["aes watchdog"]
    assert virtual(main(None)) == []
    assert threads() == []


def test_a_run_in_which_plays_compute_for_ever_goes_on(shelf: ChatTask) -> None:
    class Spinning:
        name, train_goals, eval_goals, fingerprint = shelf.name, shelf.train_goals, shelf.eval_goals, shelf.fingerprint
        spun = 0

        async def play(self, policy: Any, goal: Any, seed: int) -> Episode:
            if self.spun < 3:
                self.spun += 1
                spin()
            return await shelf.play(policy, goal, seed)

    async def main() -> list[Any]:
        config = Config(updates=2, pairs=2, goals=2, eval_goals=0, episode_seconds=0.2, retries=5)
        async with FakeEngine() as engine, Run(Spinning(), engine, config) as run:
            return [event async for event in run]

    events = asyncio.run(main())
    failures = [event for event in events if isinstance(event, EpisodeFailed)]
    assert len([f for f in failures if f.reason.startswith("computed for")]) == 3
    assert {f.kind for f in failures} == {"timeout"}
    assert sum(isinstance(event, Updated) for event in events) == 2


def test_a_watched_coroutine_is_one_to_asyncio(virtual: Callable[[Any], Any]) -> None:
    async def play() -> int:
        await asyncio.sleep(1)
        return 7

    async def main() -> tuple[int, int, bool]:
        with Watchdog(None) as watchdog:
            task = asyncio.create_task(Watched(play(), watchdog))
            closed = Watched(play(), watchdog)
            closed.close()
            return await task, await Watched(play(), watchdog), "Watched" in repr(task)

    assert virtual(main()) == (7, 7, True)
