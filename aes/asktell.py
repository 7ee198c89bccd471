"""Ask and tell: the algorithm and its bound on staleness for people with a loop of their own, without any of ours.

    ask  -> a proposal: two members (a pair), or one, to be measured wherever and in whatever order
    tell <- its fitness; as soon as the schedule allows an update, the update is made and the version counts on

Nothing waits and nothing runs here; the same answers in the same order give the same updates bit for bit. The weights
are the caller's: a `Centre`, an engine, or anything that redraws eps(seed).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Literal

from aes import noise, strategy
from aes.config import Config
from aes.dispatch import GoalBatches, schedule_of
from aes.errors import UsageError
from aes.ledger import Ledger
from aes.schedule import Slot
from aes.types import Measurement, Proposal, Update

Verdict = Literal["accepted", "too old", "unknown"]
"""What becomes of a measurement: it counts, it came after the bound (`on_stale` drop), or nobody waits for it."""


class AskTell:
    """The search that `config` describes, of which updates, pairs, sigma, lr, estimator and the schedule matter here.

    Attributes:
        version: how many updates have been made.
        updates: all of them, as seeds and coefficients; `Centre.advance` applies one.

    Example:
        centre, search = Centre(torch.zeros(3)), AskTell(Config(updates=100, pairs=4, sigma=0.1, lr=0.1))
        while (pair := search.ask()) is not None:
            search.tell(pair, [score(centre.member(member)) for member in pair.members])
            for update in search.updates[centre.newest :]:
                centre.advance(update, search.keep)
    """

    def __init__(self, config: Config, goals: int = 0) -> None:
        """`goals` is how many training goals there are: a proposal then says at which of them to measure it."""
        self.version = 0
        self.updates: tuple[Update, ...] = ()
        self._config = config
        self._goals = GoalBatches(config, goals) if goals else None
        self._ledger = Ledger(config.per_update, config.max_lag)
        self._schedule = schedule_of(config)
        self._open: dict[int, Proposal] = {}
        self._late: set[int] = set()

    @property
    def done(self) -> bool:
        """Whether the last update has been made."""
        return self.version == self._config.updates

    @property
    def keep(self) -> Collection[int]:
        """Versions that proposals may still refer to, beside the newest."""
        recent = range(max(0, self.version - self._config.max_lag), self.version)
        return {*recent, *self._ledger.versions}

    def ask(self) -> Proposal | None:
        """The next proposal; None while the bound or the plan has those that are out measured first, or when done."""
        slot = None if self.done else self._schedule.propose(self._ledger, self.version)
        if slot is None:
            return None
        proposal = self._proposal(slot)
        self._ledger.enter(proposal)
        self._open[proposal.index] = proposal
        return proposal

    def tell(self, proposal: Proposal, fitness: Sequence[float]) -> Verdict:
        """Take in the fitness of a proposal's members, in their order, and make every update that is then due.

        Raises UsageError, changing nothing, for what is no finite number for each member.
        """
        if len(fitness) != len(proposal.signs):
            raise UsageError(f"fitness {list(fitness)}: one number for each of {len(proposal.signs)} members")
        if not all(map(math.isfinite, fitness)):
            raise UsageError(f"fitness {list(fitness)}: not finite (`give_up` the proposal, or measure it again)")
        if (verdict := self._close(proposal)) != "accepted":
            return verdict
        self._ledger.arrive(Measurement(proposal, tuple(map(float, fitness)), 0, 0, 0, 0, 0, 0.0))
        while not self.done and self._advance():
            pass
        return verdict

    def give_up(self, proposal: Proposal) -> Verdict:
        """Say that a proposal can't be measured: `ask` gives another in its place, and it counts for nothing."""
        verdict = self._close(proposal)
        if verdict == "accepted":
            self._drop(proposal)
        return verdict

    def _close(self, proposal: Proposal) -> Verdict:
        if self._open.get(proposal.index) != proposal:
            return "too old" if proposal.index in self._late else "unknown"
        del self._open[proposal.index]
        return "accepted"

    def _advance(self) -> bool:
        """Make the next update if the schedule allows it."""
        chosen = self._schedule.choose(self._ledger, self.version)
        if chosen is None:
            return False
        kept = {measurement.proposal.index for measurement in chosen}
        for late in self._schedule.late(self._ledger, self.version):
            if late.index not in kept:
                self._drop(late)
                if self._open.pop(late.index, None) is not None:
                    self._late.add(late.index)
        self._ledger.take(self.version, chosen)
        self.updates += (strategy.update_of(self._config, self.version, chosen),)
        self.version += 1
        return True

    def _drop(self, proposal: Proposal) -> None:
        self._ledger.close(proposal.index)
        self._schedule.replace(proposal)

    def _proposal(self, slot: Slot) -> Proposal:
        config = self._config
        return Proposal(
            index=slot.index,
            seed=noise.seed_of(config.seed, slot.index),
            version=slot.version,
            sigma=strategy.sigma_at(config.sigma, config.sigma_floor, slot.version, config.updates),
            signs=config.signs,
            goals=self._goals.of(slot) if self._goals else (),
            update=slot.update,
        )
