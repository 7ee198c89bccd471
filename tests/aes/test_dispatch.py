"""The dispatcher: no job lost, no room leaked, the same goals for a pair, and fitness over what both finished."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aes import Config, Episode
from aes.dispatch import Dispatcher, GoalBatches, Job, measure
from aes.errors import RunFailed
from aes.events import Dispatched, Dropped, Event, Measured
from aes.failures import failed
from aes.schedule import Slot
from aes.types import Failure, Proposal


def config(**changes: Any) -> Config:
    return Config.parse({"pairs": 2, "goals": 3, "updates": 4, "max_lag": 1} | changes)


def good(fitness: float = 0.5) -> Episode:
    return Episode(fitness, fitness >= 1, 2, 30)


def bad(reason: str) -> Episode:
    return failed(Failure("environment", reason))


async def play(dispatcher: Dispatcher, job: Job, fitness: float = 0.5) -> None:
    await dispatcher.deliver(job, [good(fitness)] * len(job.proposal.goals))


def test_members_of_a_pair_are_claimed_together_and_measured_when_both_are_in(virtual: Any) -> None:
    async def main() -> list[Event]:
        events: list[Event] = []
        dispatcher = Dispatcher(config(), 10, events.append)
        plus, minus = [await dispatcher.claim() for _ in range(2)]
        assert plus.proposal is minus.proposal
        assert (plus.member.sign, minus.member.sign) == (1, -1)
        await play(dispatcher, minus, 0.25)
        assert not dispatcher.ledger.arrived
        await play(dispatcher, plus, 1.0)
        assert dispatcher.ledger.arrived[0].fitness == (1.0, 0.25)
        return events

    assert [type(event) for event in virtual(main())] == [Dispatched, Measured]


def test_claims_wait_for_room_and_room_comes_only_with_the_new_version(virtual: Any) -> None:
    async def main() -> None:
        dispatcher = Dispatcher(config(max_lag=0), 10, lambda _: None)
        jobs = [await dispatcher.claim() for _ in range(4)]
        waiting = asyncio.create_task(dispatcher.claim())
        for job in jobs:
            await play(dispatcher, job)
        measurements = await dispatcher.gather(0)
        await asyncio.sleep(1)
        assert not waiting.done()  # the engine is still at version 0
        await dispatcher.release(1, measurements)
        assert (await waiting).proposal.version == 1

    virtual(main())


def test_a_cancelled_claim_loses_no_member(virtual: Any) -> None:
    async def main() -> Counter[int]:
        dispatcher = Dispatcher(config(max_lag=0, updates=1), 10, lambda _: None)
        claimed = []
        for _ in range(4):
            hasty = asyncio.create_task(dispatcher.claim())
            hasty.cancel()
            with pytest.raises(asyncio.CancelledError):
                await hasty
            claimed.append(await dispatcher.claim())
        waiting = [asyncio.create_task(dispatcher.claim()) for _ in range(3)]
        await asyncio.sleep(1)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        return Counter(job.proposal.index for job in claimed)

    assert virtual(main()) == {0: 2, 1: 2}


def test_a_claim_cancelled_as_it_is_woken_leaves_the_member_to_the_next(virtual: Any) -> None:
    async def main() -> None:
        dispatcher = Dispatcher(config(max_lag=0, updates=2), 10, lambda _: None)
        jobs = [await dispatcher.claim() for _ in range(4)]
        first, second = (asyncio.create_task(dispatcher.claim()) for _ in range(2))
        for job in jobs:
            await play(dispatcher, job)
        await asyncio.sleep(0)
        await dispatcher.release(1, await dispatcher.gather(0))
        first.cancel()
        positions = [(await asyncio.wait_for(second, 1)).position, (await dispatcher.claim()).position]
        assert positions == [1, 0]

    virtual(main())


def test_a_member_given_up_as_it_is_handed_out_is_not_played(virtual: Any) -> None:
    """The clock drops it in the very moment between its being handed to a waiting player and the player's waking up."""

    async def main() -> None:
        dispatcher = Dispatcher(config(max_lag=0, on_stale="drop"), 10, lambda _: None)
        jobs = [await dispatcher.claim() for _ in range(4)]
        waiting = asyncio.create_task(dispatcher.claim())
        await asyncio.sleep(0)
        await play(dispatcher, jobs[0])
        await play(dispatcher, jobs[1])
        await dispatcher.give_back(jobs[2])
        dispatcher._give_up(jobs[2].proposal, "late")
        dispatcher._hand_out()
        assert (await asyncio.wait_for(waiting, 1)).proposal not in {job.proposal for job in jobs}

    virtual(main())


def test_a_measurement_costs_the_same_however_many_players_wait(virtual: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> int:
        dispatcher = Dispatcher(config(max_lag=0), 10, lambda _: None)
        jobs = [await dispatcher.claim() for _ in range(4)]
        waiting = [asyncio.create_task(dispatcher.claim()) for _ in range(1000)]
        await asyncio.sleep(1)
        asked = Counter[str]()
        propose = dispatcher._schedule.propose
        monkeypatch.setattr(dispatcher._schedule, "propose", lambda *a: asked.update(["propose"]) or propose(*a))
        for job in jobs:
            await play(dispatcher, job)
            await asyncio.sleep(1)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        return asked["propose"]

    assert virtual(main()) <= 4


def test_idle_seconds_count_every_waiting_player(virtual: Any) -> None:
    async def main() -> float:
        dispatcher = Dispatcher(config(max_lag=0, updates=1), 10, lambda _: None)
        for _ in range(4):
            await dispatcher.claim()
        await asyncio.sleep(10)
        waiting = [asyncio.create_task(dispatcher.claim()) for _ in range(3)]
        await asyncio.sleep(5)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        await asyncio.sleep(100)
        return dispatcher.idle_seconds()

    assert virtual(main()) == pytest.approx(15)


def test_what_is_dropped_stops_being_played_and_is_made_up_for(virtual: Any) -> None:
    async def main() -> list[Dropped]:
        events: list[Event] = []
        dispatcher = Dispatcher(config(on_stale="drop"), 10, events.append)
        jobs = [await dispatcher.claim() for _ in range(8)]
        for job in jobs[:4]:
            await play(dispatcher, job)
        await dispatcher.release(1, await dispatcher.gather(0))
        fresh = [await dispatcher.claim() for _ in range(4)]

        async def hang() -> str:
            try:
                async with asyncio.timeout(None) as scope:
                    with dispatcher.abortable(jobs[4], scope):
                        await asyncio.sleep(1e6)
            except TimeoutError:
                return "aborted"
            return "finished"

        hanging = asyncio.create_task(hang())
        await play(dispatcher, jobs[6])
        await play(dispatcher, jobs[7])
        await asyncio.sleep(3)
        await play(dispatcher, fresh[0])
        await play(dispatcher, fresh[1])
        assert [m.proposal.index for m in await dispatcher.gather(1)] == [3, 4]
        assert await hanging == "aborted"
        await play(dispatcher, jobs[4])  # too late to matter
        assert jobs[4].proposal not in dispatcher.ledger.open
        assert not dispatcher._scopes
        return [event for event in events if isinstance(event, Dropped)]

    assert [(event.proposal.index, event.reason, event.seconds) for event in virtual(main())] == [(2, "late", 3.0)]


def test_a_measured_member_that_is_dropped_counts_its_seconds(virtual: Any) -> None:
    """More may arrive than an update consumes; what then grows too old was played in vain."""

    async def main() -> list[tuple[int, float]]:
        events: list[Event] = []
        dispatcher = Dispatcher(config(on_stale="drop", max_lag=2), 10, events.append)
        old = [await dispatcher.claim() for _ in range(12)]
        await asyncio.sleep(4)
        for version, quick in ((0, old[:4]), (1, None)):
            for job in quick or [await dispatcher.claim() for _ in range(4)]:
                await play(dispatcher, job)
            await dispatcher.release(version + 1, await dispatcher.gather(version))
        for job in old[4:]:
            await play(dispatcher, job)
        await dispatcher.release(3, await dispatcher.gather(2))
        return [(event.proposal.index, event.seconds) for event in events if isinstance(event, Dropped)]

    assert virtual(main()) == [(4, 4.0), (5, 4.0)]


def test_failures_in_a_row_end_the_run_and_one_success_forgives_them(virtual: Any) -> None:
    async def main(pattern: str) -> None:
        dispatcher = Dispatcher(config(pairs=2, updates=9), 10, lambda _: None)
        for outcome in pattern:
            for _ in range(2):
                job = await dispatcher.claim()
                episodes = [good() if outcome == "." else bad("no money")] * 3
                await dispatcher.deliver(job, episodes)

    virtual(main("x.x."))
    with pytest.raises(RunFailed, match=r"2 proposals in a row had too few good episodes; .* no money \(6 times\)"):
        virtual(main(".xx"))


PROPOSAL = Proposal(0, 1, 0, 1.0, (1, -1), (4, 5, 6))


def test_fitness_is_over_goals_that_every_member_finished() -> None:
    plus = [good(1.0), bad("x"), good(0.5)]
    minus = [good(0.0), good(0.9), bad("y")]
    measurement = measure(PROPOSAL, [plus, minus], 3.0, 1 / 3)
    assert measurement is not None
    assert measurement.fitness == (1.0, 0.0)
    assert (measurement.episodes, measurement.failures, measurement.successes) == (6, 2, 1)
    assert (measurement.turns, measurement.tokens, measurement.seconds) == (8, 120, 3.0)


@pytest.mark.parametrize("min_good", [0.0, 0.5, 1.0])
def test_too_few_common_goals_are_no_measurement(min_good: float) -> None:
    for failing in range(4):
        plus = [bad("x") if i < failing else good() for i in range(3)]
        measured = measure(PROPOSAL, [plus, [good()] * 3], 1.0, min_good) is not None
        assert measured == (failing < 3 and (3 - failing) / 3 >= min_good)
    nowhere_both = [[good(), bad("x"), bad("x")], [bad("x"), good(), good()]]
    assert measure(PROPOSAL, nowhere_both, 1.0, min_good) is None


def test_a_run_in_which_too_many_episodes_fail_ends(virtual: Any) -> None:
    """The window is 32 episodes here; proposals stay good enough to be measured."""

    async def main(failing: int, **changes: Any) -> int:
        dispatcher = Dispatcher(
            config(pairs=2, goals=4, updates=40, max_lag=9, min_good=0.0, **changes), 10, lambda _: None
        )
        for _ in range(40):
            job = await dispatcher.claim()
            await dispatcher.deliver(job, [bad("no stock")] * failing + [good()] * (4 - failing))
        return len(dispatcher.ledger.arrived)

    assert virtual(main(2)) == 20
    assert virtual(main(3, max_failures=0.75)) == 20
    with pytest.raises(RunFailed, match=r"^18 of the last 24 episodes failed, more than max_failures 0.5 of 32"):
        virtual(main(3))
    with pytest.raises(RunFailed, match=r"18 environment; most often environment: no stock \(18 times\)\); mend"):
        virtual(main(3))


@given(total=st.integers(1, 30), size=st.integers(1, 12), seed=st.integers(0, 99))
def test_every_goal_is_played_equally_often(total: int, size: int, seed: int) -> None:
    batches = GoalBatches(config(goals=size, seed=seed), total)
    proposals = 2 * total
    counts = Counter(goal for i in range(proposals) for goal in batches.of(Slot(None, i, 0)))
    assert counts == dict.fromkeys(range(total), 2 * size)


@given(order=st.permutations(range(40)))
def test_goals_do_not_depend_on_who_asks_first_and_shuffles_are_not_hoarded(order: Sequence[int]) -> None:
    one, other = (GoalBatches(config(goals=3), 7) for _ in range(2))
    in_turn = {i: one.of(Slot(None, i, 0)) for i in range(40)}
    assert {i: other.of(Slot(None, i, 0)) for i in order} == in_turn
    assert len(other._epochs) <= 4


def test_compared_members_share_a_batch_and_pairs_have_their_own() -> None:
    own, shared = (GoalBatches(config(estimator=e), 50) for e in ("pairs", "zscore"))
    assert own.of(Slot(None, 0, 3)) != own.of(Slot(None, 1, 3))
    assert shared.of(Slot(None, 0, 3)) == shared.of(Slot(None, 1, 3)) != shared.of(Slot(None, 2, 4))
    assert shared.of(Slot(5, 0, 1)) == shared.of(Slot(5, 1, 5))
