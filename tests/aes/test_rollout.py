"""Players: whatever goes wrong in an episode is data; luck is shared; seats are given back."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from aes import ChatTask, Config, Episode, Policy
from aes.dispatch import Dispatcher, Job
from aes.engine.fake import FakeEngine
from aes.errors import ContextOverflow, EngineError, GenerationFailed
from aes.events import EpisodeFailed, Event
from aes.rollout import Player, checked, episode_seed, play_once
from aes.types import Member, Proposal


class Playing:
    """A task whose play is one function."""

    name, train_goals, eval_goals = "playing", range(5), range(5)
    fingerprint: dict[str, str] = {}  # noqa: RUF012

    def __init__(self, play: Callable[[Any, int], Awaitable[Any]]) -> None:
        self._play = play

    async def play(self, policy: Policy, goal: Any, seed: int) -> Episode:
        episode: Episode = await self._play(goal, seed)
        return episode


async def once(play: Callable[[Any, int], Awaitable[Any]]) -> Episode:
    engine = FakeEngine()
    async with engine.seat(Member(0)) as seat:
        return await play_once(Playing(play), seat, engine, Config(), 0, 0)


def raising(error: BaseException) -> Callable[[Any, int], Awaitable[Any]]:
    async def play(goal: Any, seed: int) -> Any:
        raise error

    return play


def returning(value: Any) -> Callable[[Any, int], Awaitable[Any]]:
    async def play(goal: Any, seed: int) -> Any:
        return value

    return play


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (KeyError("x"), "KeyError: 'x'"),
        (ContextOverflow("too long"), "ContextOverflow: too long"),
        (GenerationFailed("refused"), "GenerationFailed: refused"),
        (TimeoutError(), "TimeoutError: "),
        (ExceptionGroup("two", [ValueError("a"), KeyError("b")]), "ExceptionGroup: two (2 sub-exceptions)"),
        (asyncio.CancelledError("not ours"), "CancelledError: not ours"),
    ],
)
async def test_what_a_play_raises_is_a_failed_episode(error: BaseException, reason: str) -> None:
    episode = await once(raising(error))
    assert (episode.failure, episode.fitness, episode.success) == (reason, 0.0, False)


async def test_a_lost_engine_is_not_an_episodes_business() -> None:
    lost = EngineError("gone")
    for error in (lost, ExceptionGroup("users", [ValueError("first"), ExceptionGroup("deep", [lost])])):
        with pytest.raises(EngineError) as caught:
            await once(raising(error))
        assert caught.value is lost


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1)])
async def test_what_ends_a_program_passes(error: BaseException) -> None:
    with pytest.raises(type(error)):
        await once(raising(error))


async def test_our_own_cancellation_passes() -> None:
    async def sleep(goal: Any, seed: int) -> Any:
        await asyncio.sleep(1e6)

    task = asyncio.create_task(once(sleep))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "play returned NoneType, not an Episode"),
        (0.5, "play returned float"),
        (Episode(math.nan, True, 1, 1), "non-finite fitness nan"),
        (Episode(math.inf, True, 1, 1), "non-finite fitness inf"),
        (Episode(None, True, 1, 1), "TypeError"),  # type: ignore[arg-type]
        (Episode("high", True, 1, 1), "ValueError"),  # type: ignore[arg-type]
    ],
)
async def test_what_is_no_fitness_is_a_failed_episode(value: Any, words: str) -> None:
    episode = await once(returning(value))
    assert words in (episode.failure or "")
    assert episode.fitness == 0.0


def test_a_users_own_failure_is_kept_and_its_fitness_is_not() -> None:
    episode = checked(Episode(math.nan, False, 3, 9, failure="shop closed"))
    assert episode == Episode(0.0, False, 3, 9, failure="shop closed")


def test_luck_is_the_goals_and_the_proposals_not_the_members() -> None:
    proposal, other = (Proposal(i, 1, 0, 1.0, (1, -1), (4, 5)) for i in (7, 8))
    plus, minus = (Job(proposal, position) for position in (0, 1))
    assert episode_seed(plus, 4) == episode_seed(minus, 4)
    assert len({episode_seed(plus, 4), episode_seed(plus, 5), episode_seed(Job(other, 0), 4)}) == 3


def test_a_player_seats_one_member_at_a_time_and_plays_its_goals_at_once(shelf: ChatTask, virtual: Any) -> None:
    async def main() -> None:
        engine = FakeEngine(latency=lambda *_: 1.0)
        await engine.start(0, 1.0, None)  # type: ignore[arg-type]
        events: list[Event] = []
        config = Config(pairs=2, goals=5, updates=1, max_lag=0)
        dispatcher = Dispatcher(config, 60, events.append)
        player = asyncio.create_task(Player(shelf, engine, config, dispatcher, events.append).run())
        await asyncio.sleep(0.5)
        assert engine.load == (("fake", 1),)
        measurements = await dispatcher.gather(0)
        assert asyncio.get_running_loop().time() == pytest.approx(4 * 2)  # four members, two turns, goals side by side
        assert [m.episodes for m in measurements] == [10, 10]
        player.cancel()
        await asyncio.gather(player, return_exceptions=True)
        assert engine.load == (("fake", 0),)

    virtual(main())


def test_every_try_is_told(shelf: ChatTask, virtual: Any) -> None:
    async def main() -> list[tuple[int, bool]]:
        engine, config = FakeEngine(), Config(pairs=2, goals=1, updates=1, max_lag=0, retries=2)
        events: list[Event] = []
        dispatcher = Dispatcher(config, 5, events.append)
        task = Playing(raising(ValueError("no")))
        async with engine.seat(Member(0)) as seat:
            player = Player(task, engine, config, dispatcher, events.append)
            await player._episode(seat, await dispatcher.claim(), 3)
        return [(event.goal, event.excused) for event in events if isinstance(event, EpisodeFailed)]

    assert virtual(main()) == [(3, False), (3, False), (3, True)]
