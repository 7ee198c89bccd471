"""Players: luck is shared, every failed try is told, seats are given back."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from aes import ChatTask, Config, Episode, Policy
from aes.dispatch import Dispatcher, Job
from aes.engine.fake import FakeEngine
from aes.errors import ContextOverflow
from aes.events import EpisodeFailed, Event
from aes.referee import Referee
from aes.rollout import Player, episode_seed
from aes.types import Member, Proposal


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
        player = asyncio.create_task(Player(Referee(shelf, engine, config), dispatcher, events.append).run())
        await asyncio.sleep(0.5)
        assert engine.load == (("fake", 1),)
        measurements = await dispatcher.gather(0)
        assert asyncio.get_running_loop().time() == pytest.approx(4 * 2)  # four members, two turns, goals side by side
        assert [m.episodes for m in measurements] == [10, 10]
        player.cancel()
        await asyncio.gather(player, return_exceptions=True)
        assert engine.load == (("fake", 0),)

    virtual(main())


@pytest.mark.parametrize(("error", "told"), [(ValueError("no"), [False, False, True]), (ContextOverflow("no"), [True])])
def test_every_try_is_told_and_only_what_may_help_is_tried(error: Exception, told: list[bool], virtual: Any) -> None:
    class Failing:
        name, train_goals, eval_goals = "failing", range(5), range(5)
        fingerprint: dict[str, str] = {}  # noqa: RUF012

        async def play(self, policy: Policy, goal: int, seed: int) -> Episode:
            raise error

    async def main() -> list[EpisodeFailed]:
        engine, config = FakeEngine(), Config(pairs=2, goals=1, updates=1, max_lag=0, retries=2)
        events: list[Event] = []
        dispatcher = Dispatcher(config, 5, events.append)
        async with engine.seat(Member(0)) as seat:
            player = Player(Referee(Failing(), engine, config), dispatcher, events.append)
            await player._episode(seat, await dispatcher.claim(), 3)
        return [event for event in events if isinstance(event, EpisodeFailed)]

    events = virtual(main())
    assert [event.excused for event in events] == told
    assert {event.goal for event in events} == {3}
    assert {event.kind for event in events} == {"context" if isinstance(error, ContextOverflow) else "environment"}
