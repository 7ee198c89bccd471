"""Schedules: which version each proposal is dispatched from, and which measurements each update consumes.

`Natural` dispatches from the newest centre as slots free up and consumes in order of arrival. `Controlled` fixes the
lag of every measurement in advance (update t: round(f * n) of lag min(t, max_lag), the rest of lag 0), so that what is
learned depends on seeds alone and not on timing; so does `Frozen` (update t: all of lag t mod (max_lag + 1)). All are
pure: they read the ledger and hand out plans.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from aes.ledger import Ledger, first_choice
from aes.types import Measurement, Proposal


@dataclass(frozen=True, slots=True, order=True)
class Slot:
    """A place for one proposal: the update it is reserved for (None: any), its number in the run, its version."""

    update: int | None
    index: int
    version: int


class Schedule(Protocol):
    """What the runtime asks of a schedule."""

    def propose(self, ledger: Ledger, version: int) -> Slot | None:
        """The next proposal to dispatch while `version` is the newest, or None to wait."""
        ...

    def choose(self, ledger: Ledger, version: int) -> Sequence[Measurement] | None:
        """The measurements of the update of `version`, or None while they are not all in."""
        ...

    def late(self, ledger: Ledger, version: int) -> Sequence[Proposal]:
        """Entries that the update of `version` must not leave open: consumed by it, or else dropped."""
        ...

    def replace(self, proposal: Proposal) -> None:
        """Make up for a proposal that came to nothing."""
        ...

    def restore(self, version: int, dispatched: Collection[int], replaced: Sequence[Proposal]) -> None:
        """Go on at `version`, where proposals of these indices were dispatched and these came to nothing."""
        ...


class Natural:
    """Natural asynchrony under a hard bound: `wait` for stragglers (nothing is lost), or `drop` them."""

    def __init__(self, per_update: int, updates: int, drop: bool = False, first: int = 0) -> None:
        self._budget = per_update * (updates - first)
        self._drop = drop
        self._index = per_update * first

    def propose(self, ledger: Ledger, version: int) -> Slot | None:
        """Dispatch from the newest version while the ledger has room, and never more than the run consumes."""
        if ledger.room <= 0 or self._budget == 0:
            return None
        self._budget -= 1
        self._index += 1
        return Slot(None, self._index - 1, version)

    def choose(self, ledger: Ledger, version: int) -> Sequence[Measurement] | None:
        """In order of arrival, older ones first where the bound needs it.

        Without lag there is nothing to choose: then in order of dispatch, so that timing leaves no trace in the sum.
        """
        if ledger.max_lag == 0:
            due = sorted(ledger.arrived, key=lambda m: m.proposal.index)
            return due if len(due) == ledger.per_update else None
        if not self._drop:
            return first_choice(ledger, version)
        last_call = version - ledger.max_lag
        chosen = sorted(ledger.arrived, key=lambda m: m.proposal.version > last_call)[: ledger.per_update]
        return chosen if len(chosen) == ledger.per_update else None

    def late(self, ledger: Ledger, version: int) -> Sequence[Proposal]:
        """With `drop`, whatever the next update could not consume within the bound; with `wait`, nothing."""
        return ledger.too_old(version) if self._drop else ()

    def replace(self, proposal: Proposal) -> None:
        """Allow one more proposal, of the newest version then."""
        self._budget += 1

    def restore(self, version: int, dispatched: Collection[int], replaced: Sequence[Proposal]) -> None:
        """Count what went out and what came to nothing."""
        self._index += len(dispatched)
        self._budget += len(replaced) - len(dispatched)


class Controlled:
    """A plan fixed in advance: members that must be stale need only a centre already known, so they run ahead.

    A run that begins at version `first` has no older centre to be stale by, as if `first` were 0.
    """

    def __init__(self, per_update: int, updates: int, max_lag: int, stale_frac: float, first: int = 0) -> None:
        self._first = first
        self._per_update = per_update
        self._updates = updates
        self._max_lag = max_lag
        self._stale = round(stale_frac * per_update)
        self._planned = per_update * updates
        self._released = first - 1
        self._ready: list[Slot] = []

    def propose(self, ledger: Ledger, version: int) -> Slot | None:
        """The most urgent planned proposal whose version exists."""
        self._release(version)
        return heapq.heappop(self._ready) if self._ready and ledger.room > 0 else None

    def choose(self, ledger: Ledger, version: int) -> Sequence[Measurement] | None:
        """Exactly the measurements planned for this update, in the order of the plan."""
        due = [m for m in ledger.arrived if m.proposal.update == version]
        return sorted(due, key=lambda m: m.proposal.index) if len(due) == self._per_update else None

    def late(self, ledger: Ledger, version: int) -> Sequence[Proposal]:
        """Nothing: the plan never lets a measurement grow too old."""
        return ()

    def replace(self, proposal: Proposal) -> None:
        """Plan the same place again from the same version, with a new direction that hangs on the old one alone.

        Places that come to nothing may do so in any order, and the plan must not depend on it.
        """
        heapq.heappush(self._ready, Slot(proposal.update, proposal.index + self._planned, proposal.version))

    def restore(self, version: int, dispatched: Collection[int], replaced: Sequence[Proposal]) -> None:
        """Take from the plan what went out."""
        self._release(version)
        for proposal in replaced:
            self.replace(proposal)
        self._ready = [slot for slot in self._ready if slot.index not in dispatched]
        heapq.heapify(self._ready)

    def _release(self, version: int) -> None:
        while self._released < version:
            self._released += 1
            for slot in self._plan(self._released):
                heapq.heappush(self._ready, slot)

    def _plan(self, version: int) -> list[Slot]:
        """Every place that is dispatched from `version`."""
        return [
            Slot(update, update * self._per_update + j, version)
            for update in range(version, min(version + self._max_lag + 1, self._updates))
            for j in range(self._per_update)
            if update - self._lag(update, j) == version
        ]

    def _lag(self, update: int, place: int) -> int:
        """The lag of one place of an update."""
        return min(update - self._first, self._max_lag) if place < self._stale else 0


class Frozen(Controlled):
    """Blocks of max_lag + 1 updates whose members are all dispatched from the centre at the block's start.

    The lag runs 0, 1, ..., max_lag and begins again: a stress test, in which the engines never wait inside a block.
    """

    def __init__(self, per_update: int, updates: int, max_lag: int, first: int = 0) -> None:
        super().__init__(per_update, updates, max_lag, 1.0, first)

    def _lag(self, update: int, place: int) -> int:
        return (update - self._first) % (self._max_lag + 1)
