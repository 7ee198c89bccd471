"""Schedules: what is dispatched when, and which measurements each update consumes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aes.ledger import Ledger
from aes.schedule import Controlled, Frozen, Natural, Schedule, Slot
from aes.types import Measurement, Proposal


def proposal(slot: Slot) -> Proposal:
    return Proposal(slot.index, slot.index, slot.version, 1.0, (1, -1), (0,), slot.update)


def measured(entry: Proposal) -> Measurement:
    return Measurement(entry, (0.0, 0.0), 2, 0, 0, 0, 0, 1.0)


def dispatch(schedule: Schedule, ledger: Ledger, version: int, at_most: int = 10**6) -> list[Proposal]:
    made: list[Proposal] = []
    while len(made) < at_most and (slot := schedule.propose(ledger, version)) is not None:
        made.append(proposal(slot))
        ledger.enter(made[-1])
    return made


def running(ledger: Ledger) -> list[Proposal]:
    arrived = {m.proposal.index for m in ledger.arrived}
    return [p for p in ledger.open if p.index not in arrived]


def play(
    schedule: Schedule,
    ledger: Ledger,
    updates: int,
    data: st.DataObject,
    void: Callable[[Proposal], bool],
    first: int = 0,
) -> Iterator[tuple[int, list[Measurement]]]:
    """Run a schedule to its end under arbitrary timing; yields what every update consumes."""
    for version in range(first, updates):
        while (chosen := schedule.choose(ledger, version)) is None:
            if dispatch(schedule, ledger, version, at_most=data.draw(st.integers(0, 3))):
                continue
            entry = data.draw(st.sampled_from(running(ledger) or dispatch(schedule, ledger, version)))
            if void(entry):
                ledger.close(entry.index)
                schedule.replace(entry)
            else:
                ledger.arrive(measured(entry))
        kept = {m.proposal.index for m in chosen}
        for late in schedule.late(ledger, version):
            if late.index not in kept:
                ledger.close(late.index)
                schedule.replace(late)
        ledger.take(version, chosen)
        yield version, list(chosen)


def some(voids: int, data: st.DataObject) -> Callable[[Proposal], bool]:
    """Have up to so many proposals come to nothing, any of them."""
    left = iter(range(voids))
    return lambda entry: data.draw(st.booleans()) and next(left, None) is not None


@settings(max_examples=80)
@given(
    n=st.integers(1, 6),
    updates=st.integers(1, 9),
    max_lag=st.integers(0, 5),
    fraction=st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 1.0]),
    voids=st.integers(0, 3),
    data=st.data(),
)
def test_controlled_lags_are_exactly_as_planned(
    n: int, updates: int, max_lag: int, fraction: float, voids: int, data: st.DataObject
) -> None:
    schedule, ledger = Controlled(n, updates, max_lag, fraction), Ledger(n, max_lag)
    seen: set[int] = set()
    for version, chosen in play(schedule, ledger, updates, data, some(voids, data)):
        lags = Counter(version - m.proposal.version for m in chosen)
        expected = Counter({min(version, max_lag): round(fraction * n)}) + Counter({0: n - round(fraction * n)})
        assert lags == expected
        assert len(chosen) == n
        assert not seen & {m.proposal.index for m in chosen}
        seen |= {m.proposal.index for m in chosen}
    assert not ledger.open
    assert schedule.propose(ledger, updates) is None
    if not voids:
        assert seen == set(range(n * updates))


@settings(max_examples=80)
@given(
    n=st.integers(1, 6),
    updates=st.integers(1, 9),
    max_lag=st.integers(1, 5),
    first=st.integers(0, 3),
    voids=st.integers(0, 3),
    data=st.data(),
)
def test_frozen_lags_are_a_saw_tooth(
    n: int, updates: int, max_lag: int, first: int, voids: int, data: st.DataObject
) -> None:
    schedule, ledger = Frozen(n, first + updates, max_lag, first), Ledger(n, max_lag)
    seen: set[int] = set()
    for version, chosen in play(schedule, ledger, first + updates, data, some(voids, data), first):
        assert {version - m.proposal.version for m in chosen} == {(version - first) % (max_lag + 1)}
        assert len(chosen) == n
        assert not seen & {m.proposal.index for m in chosen}
        seen |= {m.proposal.index for m in chosen}
    assert not ledger.open
    assert schedule.propose(ledger, first + updates) is None
    if not voids:
        assert seen == set(range(n * first, n * (first + updates)))


@given(data=st.data(), max_lag=st.integers(1, 3), salt=st.integers(0, 99))
def test_what_a_frozen_block_consumes_hangs_on_what_is_void_and_not_on_when(
    data: st.DataObject, max_lag: int, salt: int
) -> None:
    def void(entry: Proposal) -> bool:
        return Random(f"{salt} {entry.index}").random() < 0.4

    def consumed() -> list[list[int]]:
        schedule, ledger = Frozen(3, 5, max_lag), Ledger(3, max_lag)
        return [[m.proposal.index for m in chosen] for _, chosen in play(schedule, ledger, 5, data, void)]

    assert consumed() == consumed()


def test_a_frozen_block_runs_ahead_and_stops_at_its_end() -> None:
    schedule, ledger = Frozen(2, 9, max_lag=2), Ledger(2, 2)
    ahead = dispatch(schedule, ledger, 0)
    assert [(p.update, p.version) for p in ahead] == [(0, 0), (0, 0), (1, 0), (1, 0), (2, 0), (2, 0)]
    for entry in ahead:
        ledger.arrive(measured(entry))
    for version in range(3):
        assert dispatch(schedule, ledger, version) == []
        ledger.take(version, schedule.choose(ledger, version) or ())
    assert {(p.update, p.version) for p in dispatch(schedule, ledger, 3)} == {(3, 3), (4, 3), (5, 3)}


def test_without_lag_the_order_of_arrival_leaves_no_trace() -> None:
    schedule, ledger = Natural(3, 2), Ledger(3, 0)
    dispatch(schedule, ledger, 0)
    for entry in reversed(ledger.open):
        assert schedule.choose(ledger, 0) is None
        ledger.arrive(measured(entry))
    assert [m.proposal.index for m in schedule.choose(ledger, 0) or ()] == [0, 1, 2]


@settings(max_examples=80)
@given(
    n=st.integers(1, 5),
    updates=st.integers(1, 9),
    max_lag=st.integers(0, 4),
    drop=st.booleans(),
    voids=st.integers(0, 3),
    data=st.data(),
)
def test_natural_consumes_n_within_the_bound_and_wastes_nothing_but_drops(
    n: int, updates: int, max_lag: int, drop: bool, voids: int, data: st.DataObject
) -> None:
    schedule, ledger = Natural(n, updates, drop), Ledger(n, max_lag)
    seen: list[int] = []
    for version, chosen in play(schedule, ledger, updates, data, some(voids, data)):
        assert len(chosen) == n
        assert all(0 <= version - m.proposal.version <= max_lag for m in chosen)
        seen += [m.proposal.index for m in chosen]
    assert len(set(seen)) == len(seen) == n * updates
    assert not ledger.open
    if not drop and not voids:
        assert sorted(seen) == list(range(n * updates))


def test_natural_dispatches_from_the_newest_version_while_there_is_room() -> None:
    schedule, ledger = Natural(2, 3), Ledger(2, 1)
    assert [(p.index, p.version, p.update) for p in dispatch(schedule, ledger, 0)] == [
        (0, 0, None),
        (1, 0, None),
        (2, 0, None),
        (3, 0, None),
    ]
    for index in (0, 1):
        ledger.arrive(measured(ledger.open[index]))
    ledger.take(0, schedule.choose(ledger, 0) or ())
    assert [(p.index, p.version) for p in dispatch(schedule, ledger, 1)] == [(4, 1), (5, 1)]
    assert schedule.propose(ledger, 1) is None


def test_wait_waits_and_drop_gives_up_what_would_grow_too_old() -> None:
    wait, drop = Natural(1, 9), Natural(1, 9, drop=True)
    ledger = Ledger(1, 1)
    straggler, quick = proposal(Slot(None, 0, 0)), proposal(Slot(None, 1, 1))
    for entry in (straggler, quick):
        ledger.enter(entry)
    ledger.arrive(measured(quick))
    assert wait.choose(ledger, 1) is None
    assert wait.late(ledger, 1) == ()
    assert [m.proposal for m in drop.choose(ledger, 1) or ()] == [quick]
    assert drop.late(ledger, 1) == (straggler,)


def test_drop_consumes_first_what_it_would_otherwise_throw_away() -> None:
    schedule, ledger = Natural(1, 9, drop=True), Ledger(1, 1)
    old, new = proposal(Slot(None, 0, 0)), proposal(Slot(None, 1, 1))
    for entry in (old, new):
        ledger.enter(entry)
    for entry in (new, old):
        ledger.arrive(measured(entry))
    assert [m.proposal for m in schedule.choose(ledger, 1) or ()] == [old]


def test_stale_members_run_ahead_but_after_what_is_due() -> None:
    schedule, ledger = Controlled(2, 9, max_lag=2, stale_frac=1.0), Ledger(2, 2)
    ahead = dispatch(schedule, ledger, 0)
    assert [(p.update, p.version) for p in ahead] == [(0, 0), (0, 0), (1, 0), (1, 0), (2, 0), (2, 0)]
    assert ledger.room == 0


def test_a_planned_place_that_came_to_nothing_is_planned_again() -> None:
    schedule, ledger = Controlled(2, 3, max_lag=1, stale_frac=0.5), Ledger(2, 1)
    first = dispatch(schedule, ledger, 0)
    void = first[1]
    ledger.close(void.index)
    schedule.replace(void)
    again = dispatch(schedule, ledger, 0)
    assert [(p.update, p.version) for p in again] == [(void.update, void.version)]
    assert again[0].index not in {p.index for p in first}


@given(data=st.data(), fraction=st.floats(0, 1), max_lag=st.integers(0, 3), salt=st.integers(0, 99))
def test_what_a_plan_consumes_hangs_on_what_is_void_and_not_on_when(
    data: st.DataObject, fraction: float, max_lag: int, salt: int
) -> None:
    def void(entry: Proposal) -> bool:
        return Random(f"{salt} {entry.index}").random() < 0.4

    def consumed() -> list[list[int]]:
        schedule, ledger = Controlled(3, 4, max_lag, fraction), Ledger(3, max_lag)
        return [[m.proposal.index for m in chosen] for _, chosen in play(schedule, ledger, 4, data, void)]

    assert consumed() == consumed()


@pytest.mark.parametrize("fraction", [0.0, 0.3, 1.0])
def test_the_plan_is_consumed_in_its_own_order_whatever_arrives_first(fraction: float) -> None:
    schedule, ledger = Controlled(4, 2, max_lag=1, stale_frac=fraction), Ledger(4, 1)
    dispatch(schedule, ledger, 0)
    for entry in reversed(ledger.open):
        ledger.arrive(measured(entry))
    assert [m.proposal.index for m in schedule.choose(ledger, 0) or ()] == [0, 1, 2, 3]
