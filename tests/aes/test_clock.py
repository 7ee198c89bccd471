"""The clock: what it sends to the engine, and which versions it keeps."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any

import pytest

from aes import Config, Episode
from aes.clock import Clock
from aes.dispatch import Dispatcher
from aes.engine.fake import FakeEngine
from aes.events import Event, Updated
from aes.types import Advanced, Update


class Recording(FakeEngine):
    """Keeps every update and what was to be held after it."""

    def __init__(self) -> None:
        super().__init__()
        self.updates: list[Update] = []
        self.kept: list[set[int]] = []

    async def advance(self, update: Update, keep: Collection[int], lags: Collection[int], run: str = "") -> Advanced:
        self.updates.append(update)
        self.kept.append(set(keep))
        await asyncio.sleep(1)
        return await super().advance(update, keep, lags, run)


async def run(settings: Config, fitness: Any, pinned: Collection[int] = ()) -> tuple[Recording, list[Updated]]:
    """Play every member in order of dispatch, two seconds each, and let the clock tick."""
    engine, events, reached = Recording(), list[Event](), list[int]()
    dispatcher = Dispatcher(settings, 9, events.append)

    async def play() -> None:
        while True:
            job = await dispatcher.claim()
            await asyncio.sleep(2)
            await dispatcher.deliver(job, [Episode(fitness(job), False, 1, 1)] * len(job.proposal.goals))

    async def note(version: int) -> None:
        reached.append(version)

    clock = Clock(engine, settings, dispatcher, 1, events.append, lambda: pinned, note)
    player = asyncio.create_task(play())
    await clock.run()
    player.cancel()
    await asyncio.gather(player, return_exceptions=True)
    assert reached == list(range(1, settings.updates + 1))
    return engine, [event for event in events if isinstance(event, Updated)]


def config(**changes: Any) -> Config:
    return Config.parse({"pairs": 2, "goals": 1, "updates": 4, "max_lag": 0, "lr": 0.5, "sigma": 2.0} | changes)


def test_updates_are_the_estimators_terms(virtual: Any) -> None:
    engine, updated = virtual(run(config(decay=0.1, momentum=0.3), lambda job: job.member.sign * job.proposal.index))
    update = engine.updates[0]  # differences 0 and 2: deviation 1, z = 0 and 2
    assert [t.coefficient for t in update.terms] == pytest.approx([0.0, 0.5 * 2 / 2])
    assert (update.shrink, update.momentum) == (pytest.approx(0.05), 0.3)
    assert (updated[0].fitness, updated[0].deviation) == (0.0, 1.0)


def test_no_signal_is_a_skipped_update(virtual: Any) -> None:
    engine, updated = virtual(run(config(decay=0.1, momentum=0.3), lambda job: 0.5))
    assert engine.updates == [Update(version, ()) for version in range(4)]
    assert all(event.skipped for event in updated)


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ({"max_lag": 0}, [{0}, {1}, {2}, {3}]),
        ({"max_lag": 2, "stale_frac": 1.0}, [{0}, {0, 1}, {0, 1, 2}, {1, 2, 3}]),
    ],
)
def test_versions_are_held_as_long_as_someone_may_ask(virtual: Any, changes: dict[str, Any], kept: list[Any]) -> None:
    engine, _ = virtual(run(config(**changes), lambda job: job.member.sign * job.proposal.seed))
    assert engine.kept == kept
    pinned, _ = virtual(run(config(**changes), lambda job: job.member.sign * job.proposal.seed, pinned=(0,)))
    assert pinned.kept == [versions | {0} for versions in kept]


def test_idle_and_seconds_are_shares_of_the_update(virtual: Any) -> None:
    _, updated = virtual(run(config(), lambda job: job.member.sign * job.proposal.seed))
    assert [event.seconds for event in updated] == pytest.approx([9.0] * 4)  # four members, then the engine
    assert [event.idle for event in updated] == pytest.approx([1 / 9] * 4)


def test_moved_is_in_sigmas(virtual: Any) -> None:
    _, updated = virtual(run(config(max_lag=1, stale_frac=1.0), lambda job: job.member.sign * job.proposal.seed))
    assert updated[0].moved == {0: 0.0}
    assert list(updated[1].moved) == [1]
    assert updated[1].moved[1] > 0
