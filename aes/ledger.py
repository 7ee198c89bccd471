"""The ledger: the account of every proposal that is out, and the bound on staleness as an invariant of that account.

An entry is opened when a proposal is dispatched and closed when an update consumes its measurement (or it is dropped or
voided). With n measurements an update and a bound of L versions, two rules make the bound hold without ever having to
throw a measurement away:

    admission    at most n * (L + 1) entries are open
    consumption  after the update of version v, at most n * k open entries are of version v - L + k or older (k = 0..L)

The second rule at k = 0 is the bound itself: nothing of version v - L or older stays open, so whatever the next update
(of version v + 1) consumes has a lag of at most L. `take` refuses a choice that breaks it. For k > 0 the rule keeps the
next k updates able to obey it, since each can consume n: `first_choice` chooses so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from aes.errors import AesError
from aes.types import Measurement, Proposal


class Ledger:
    """The in-flight account of one run; pure bookkeeping, no waiting."""

    def __init__(self, per_update: int, max_lag: int) -> None:
        self.per_update = per_update
        self.max_lag = max_lag
        self._open: dict[int, Proposal] = {}
        self._arrived: dict[int, Measurement] = {}

    @property
    def capacity(self) -> int:
        """The most entries that may be open: n * (L + 1)."""
        return self.per_update * (self.max_lag + 1)

    @property
    def room(self) -> int:
        """How many more entries may be opened now."""
        return self.capacity - len(self._open)

    @property
    def open(self) -> tuple[Proposal, ...]:
        """Every open entry, in order of dispatch."""
        return tuple(self._open.values())

    @property
    def arrived(self) -> tuple[Measurement, ...]:
        """Measurements that wait to be consumed, in order of arrival."""
        return tuple(self._arrived.values())

    @property
    def versions(self) -> frozenset[int]:
        """Versions that open entries refer to; the engines must keep them."""
        return frozenset(p.version for p in self._open.values())

    def enter(self, proposal: Proposal) -> None:
        """Open an entry. Raises AesError when there is no room."""
        if self.room <= 0:
            raise AesError(f"ledger: proposal {proposal.index} exceeds the {self.capacity} entries that max_lag allows")
        self._open[proposal.index] = proposal

    def arrive(self, measurement: Measurement) -> None:
        """Note that an open entry was measured."""
        self._arrived[self._open[measurement.proposal.index].index] = measurement

    def close(self, index: int) -> Measurement | None:
        """Close an entry (consumed, dropped as too old, or void) and return its measurement where it has one."""
        del self._open[index]
        return self._arrived.pop(index, None)

    def owed(self, version: int) -> list[tuple[int, int]]:
        """What the update of `version` must take: (w, m) means at least m entries of version w or older."""
        oldest = version - self.max_lag
        return [
            (oldest + k, sum(p.version <= oldest + k for p in self._open.values()) - self.per_update * k)
            for k in range(self.max_lag + 1)
        ]

    def too_old(self, version: int) -> tuple[Proposal, ...]:
        """Open entries that the update of `version` + 1 could no longer consume."""
        return tuple(p for p in self._open.values() if p.version <= version - self.max_lag)

    def take(self, version: int, chosen: Sequence[Measurement]) -> None:
        """Consume measurements in the update of `version`; raises AesError, changing nothing, beyond the bound."""
        for measurement in chosen:
            self._check_lag(version, measurement)
        left = {p.index for p in self.too_old(version)} - {m.proposal.index for m in chosen}
        if left:
            raise AesError(f"ledger: update {version} leaves {sorted(left)} open beyond max_lag {self.max_lag}")
        for measurement in chosen:
            self.close(measurement.proposal.index)

    def _check_lag(self, version: int, measurement: Measurement) -> None:
        if measurement.proposal.index not in self._arrived:
            raise AesError(f"ledger: proposal {measurement.proposal.index} has no measurement to consume")
        lag = version - measurement.proposal.version
        if not 0 <= lag <= self.max_lag:
            raise AesError(f"ledger: measurement of lag {lag} offered to update {version} (max_lag {self.max_lag})")


def first_choice(ledger: Ledger, version: int) -> list[Measurement] | None:
    """The measurements of the update of `version`, in order of arrival; None while they must be waited for.

    An arrived measurement is passed over only where older entries need its place, so that nothing ever has to be
    thrown away (see the module's rules).
    """
    places = ledger.per_update
    if len(ledger.arrived) < places:
        return None
    owed = ledger.owed(version)
    chosen: list[Measurement] = []
    for measurement in ledger.arrived:
        if places == 0:
            break
        after = [(w, least - (measurement.proposal.version <= w)) for w, least in owed]
        if places - 1 >= _most(after):
            chosen.append(measurement)
            places, owed = places - 1, after
    return chosen if places == 0 and _most(owed) <= 0 else None


def _most(owed: Iterable[tuple[int, int]]) -> int:
    return max((least for _, least in owed), default=0)
