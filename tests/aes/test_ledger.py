"""The bound on staleness as an invariant of the account, whatever the order of events."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from aes.errors import AesError
from aes.ledger import Ledger, first_choice
from aes.types import Measurement, Proposal


def proposal(index: int, version: int, update: int | None = None) -> Proposal:
    return Proposal(index, index, version, 1.0, (1, -1), (0,), update)


def measured(entry: Proposal) -> Measurement:
    return Measurement(entry, (0.0, 0.0), 2, 0, 0, 0, 0, 1.0)


class Life(RuleBasedStateMachine):
    """Proposals are opened, measured, voided and consumed in any order that the rules allow."""

    @initialize(per_update=st.integers(1, 5), max_lag=st.integers(0, 5))
    def begin(self, per_update: int, max_lag: int) -> None:
        self.ledger = Ledger(per_update, max_lag)
        self.version = 0
        self.index = 0
        self.gathered: Sequence[Measurement] | None = None

    @precondition(lambda self: self.ledger.room > 0)
    @rule(several=st.integers(1, 12))
    def dispatch(self, several: int) -> None:
        for _ in range(min(several, self.ledger.room)):
            self.ledger.enter(proposal(self.index, self.version))
            self.index += 1

    @precondition(lambda self: self.running())
    @rule(data=st.data())
    def arrive(self, data: st.DataObject) -> None:
        self.ledger.arrive(measured(data.draw(st.sampled_from(self.running()))))

    @precondition(lambda self: self.running())
    @rule(data=st.data())
    def void(self, data: st.DataObject) -> None:
        self.ledger.close(data.draw(st.sampled_from(self.running())).index)

    @rule()
    def gather(self) -> None:
        """Choose now, consume later: the engine's update lies between, and life goes on meanwhile."""
        if self.gathered is None:
            self.gathered = first_choice(self.ledger, self.version)

    @precondition(lambda self: self.gathered is not None)
    @rule()
    def release(self) -> None:
        chosen = self.gathered
        assert chosen is not None
        assert len(chosen) == self.ledger.per_update
        assert all(0 <= self.version - m.proposal.version <= self.ledger.max_lag for m in chosen)
        self.ledger.take(self.version, chosen)
        self.version += 1
        self.gathered = None

    @rule()
    def everything_arrives(self) -> None:
        """There is no dead end: whatever happened, enough arrivals always make the next update possible."""
        for entry in self.running():
            self.ledger.arrive(measured(entry))
        if self.gathered is None and len(self.ledger.open) >= self.ledger.per_update:
            assert first_choice(self.ledger, self.version) is not None

    @invariant()
    def capacity_holds(self) -> None:
        assert 0 <= len(self.ledger.open) <= self.ledger.capacity

    @invariant()
    def nothing_open_is_beyond_the_bound(self) -> None:
        assert all(self.version - p.version <= self.ledger.max_lag for p in self.ledger.open)

    @invariant()
    def the_second_rule_holds(self) -> None:
        """At most n * k open entries are of version v - 1 - L + k or older (the update of v - 1 has passed)."""
        for k in range(self.ledger.max_lag + 1):
            old = [p for p in self.ledger.open if p.version <= self.version - 1 - self.ledger.max_lag + k]
            assert len(old) <= self.ledger.per_update * k

    def running(self) -> list[Proposal]:
        arrived = {m.proposal.index for m in self.ledger.arrived}
        return [p for p in self.ledger.open if p.index not in arrived]


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=60, stateful_step_count=60, deadline=None, derandomize=True)


@settings(max_examples=60)
@given(per_update=st.integers(1, 4), max_lag=st.integers(0, 4), data=st.data())
def test_a_full_run_consumes_everything_once(per_update: int, max_lag: int, data: st.DataObject) -> None:
    """Always keep the account full and let arrivals be as unfair as they can: nothing is lost, nothing is late."""
    ledger, updates, index = Ledger(per_update, max_lag), 8, 0
    consumed: list[int] = []
    for version in range(updates):
        while ledger.room and index < per_update * updates:
            ledger.enter(proposal(index, version))
            index += 1
        while (chosen := first_choice(ledger, version)) is None:
            arrived = {m.proposal.index for m in ledger.arrived}
            missing = [p for p in ledger.open if p.index not in arrived]
            ledger.arrive(measured(missing[data.draw(st.integers(0, len(missing) - 1))]))
        ledger.take(version, chosen)
        consumed += [m.proposal.index for m in chosen]
    assert sorted(consumed) == list(range(per_update * updates))


def test_order_of_arrival_is_kept_where_nothing_is_owed() -> None:
    ledger = Ledger(2, 3)
    for index in range(6):
        ledger.enter(proposal(index, 0))
    for index in (4, 1, 5):
        ledger.arrive(measured(ledger.open[index]))
    assert [m.proposal.index for m in first_choice(ledger, 0) or ()] == [4, 1]


def test_a_newer_one_is_passed_over_where_the_bound_needs_its_place() -> None:
    ledger = Ledger(2, 1)
    for index in range(4):
        ledger.enter(proposal(index, 0))
    for index in (0, 1):
        ledger.arrive(measured(ledger.open[index]))
    ledger.take(0, ledger.arrived)
    for index in (4, 5):
        ledger.enter(proposal(index, 1))
        ledger.arrive(measured(ledger.open[-1]))
    assert first_choice(ledger, 1) is None
    for entry in ledger.open[:2]:
        ledger.arrive(measured(entry))
    assert [m.proposal.index for m in first_choice(ledger, 1) or ()] == [2, 3]


def test_synchronous_means_all_of_this_version() -> None:
    ledger = Ledger(3, 0)
    for index in range(3):
        ledger.enter(proposal(index, 0))
        assert first_choice(ledger, 0) is None
        ledger.arrive(measured(ledger.open[-1]))
    assert ledger.room == 0
    assert len(first_choice(ledger, 0) or ()) == 3


def test_what_is_not_allowed_is_refused_and_changes_nothing() -> None:
    ledger = Ledger(1, 1)
    ledger.enter(proposal(0, 0))
    ledger.enter(proposal(1, 0))
    with pytest.raises(AesError, match="exceeds the 2 entries that max_lag allows"):
        ledger.enter(proposal(2, 0))
    with pytest.raises(AesError, match="no measurement to consume"):
        ledger.take(0, [measured(ledger.open[0])])
    ledger.arrive(measured(ledger.open[1]))
    with pytest.raises(AesError, match="lag 2"):
        ledger.take(2, ledger.arrived)
    with pytest.raises(AesError, match=r"leaves \[0\] open"):
        ledger.take(1, ledger.arrived)
    assert [p.index for p in ledger.open] == [0, 1]
    assert [m.proposal.index for m in ledger.arrived] == [1]


def test_closing_an_entry_gives_its_room_back() -> None:
    ledger = Ledger(1, 0)
    ledger.enter(proposal(0, 0))
    ledger.arrive(measured(ledger.open[0]))
    ledger.close(0)
    assert (ledger.room, ledger.arrived, ledger.versions) == (1, (), frozenset())
