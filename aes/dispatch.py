"""The dispatcher: where players fetch members to play and the clock fetches what was measured.

    players --claim--> member of a proposal, dispatched from the newest centre (or as the plan says)
    players --deliver--> its episodes; when all members of the proposal are in, a measurement
    clock   --gather--> the measurements of one update, once the schedule allows it
    clock   --release--> the new version is live: only now is the room of what it consumed free again

Everything runs in one event loop. Players wait in line and are woken when there is a member for them, so that thousands
may wait at no cost; a condition wakes the clock.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from aes import noise, strategy
from aes.config import Config
from aes.errors import RunFailed
from aes.events import Dispatched, Dropped, Event, Measured
from aes.failures import FailureGuard, summary
from aes.ledger import Ledger
from aes.past import Past
from aes.schedule import Controlled, Frozen, Natural, Schedule, Slot
from aes.types import Episode, Measurement, Member, Proposal

_EPOCHS = 3  # shuffles kept besides the current one: replacements come from far ahead, stale members from behind


@dataclass(frozen=True, slots=True)
class Job:
    """One member of a proposal, to be played by one player."""

    proposal: Proposal
    position: int

    @property
    def member(self) -> Member:
        """The adapter to play with."""
        return self.proposal.members[self.position]


class Dispatcher:
    """Hands out members, collects episodes, and holds the account."""

    def __init__(
        self, config: Config, train_goals: int, emit: Callable[[Event], None], past: Past | None = None
    ) -> None:
        """Begin at version 0, or where `past` has ended: what was out without a measurement is to be played again."""
        self.version = past.version if past else 0
        self.ledger = Ledger(config.per_update, config.max_lag)
        self._waiting = 0
        self._idle = 0.0
        self._idle_until = 0.0
        self._config = config
        self._emit = emit
        self._goals = GoalBatches(config, train_goals)
        self._schedule = schedule_of(config, past.first if past else 0)
        self._jobs: deque[Job] = deque()
        self._results: dict[int, dict[int, Sequence[Episode]]] = {}
        self._began: dict[int, float] = {}
        self._scopes: dict[int, list[asyncio.Timeout]] = {}
        self._guard = FailureGuard(config)
        self._voids = 0
        self._closed = False
        self._line: deque[asyncio.Future[Job]] = deque()
        self._changed = asyncio.Condition()
        if past is not None:
            self._restore(past)

    async def claim(self) -> Job:
        """The next member to play; waits while the bound or the plan leaves none. Cancelling loses none."""
        while (job := await self._turn()).proposal.index not in self._results:
            pass  # it was given up in the moment that it was handed out
        return job

    async def drain(self) -> None:
        """Send out no more proposals, and wait until those that are out are measured."""
        async with self._changed:
            self._closed = True
            await self._changed.wait_for(lambda: not self._results)

    def idle_seconds(self) -> float:
        """Seconds that all players together have spent waiting for a member so far."""
        self._wait(0)
        return self._idle

    @contextmanager
    def abortable(self, job: Job, scope: asyncio.Timeout) -> Iterator[None]:
        """While inside, dropping the job's proposal makes `scope` expire."""
        scopes = self._scopes.setdefault(job.proposal.index, [])
        scopes.append(scope)
        try:
            yield
        finally:
            scopes.remove(scope)
            if not scopes:
                self._scopes.pop(job.proposal.index, None)

    async def deliver(self, job: Job, episodes: Sequence[Episode]) -> None:
        """Hand in a member's episodes, one per goal.

        Raises RunFailed when a whole update's worth came to nothing, or too many of the last episodes failed.
        """
        results = self._results.get(job.proposal.index)
        if results is None:
            return
        self._guard.note(episodes)
        results[job.position] = episodes
        if len(results) == len(job.proposal.signs):
            self._close(job.proposal, [results[i] for i in range(len(results))])
            self._hand_out()
            async with self._changed:
                self._changed.notify_all()

    async def give_back(self, job: Job) -> None:
        """Have a member played again before all others: its engine was lost."""
        if job.proposal.index in self._results:
            self._jobs.appendleft(job)
            self._hand_out()

    async def gather(self, version: int) -> Sequence[Measurement]:
        """The measurements that the update of `version` consumes; waits until the schedule allows the update."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._schedule.choose(self.ledger, version) is not None)
            chosen = self._schedule.choose(self.ledger, version) or ()
            kept = {m.proposal.index for m in chosen}
            for proposal in self._schedule.late(self.ledger, version):
                if proposal.index not in kept:
                    self._give_up(proposal, "late")
            self._hand_out()
            return chosen

    async def release(self, version: int, consumed: Sequence[Measurement]) -> None:
        """Announce that `version`, made of `consumed`, is live."""
        async with self._changed:
            self.ledger.take(version - 1, consumed)
            self.version = version
            self._hand_out()

    def _restore(self, past: Past) -> None:
        self._voids = past.voids
        self._schedule.restore(past.version, past.dispatched, past.replaced)
        for proposal in past.open.values():
            self.ledger.enter(proposal)
            if proposal.index not in past.arrived:
                self._enlist(proposal)
        for measurement in past.arrived.values():
            self.ledger.arrive(measurement)

    def _enlist(self, proposal: Proposal) -> None:
        self._results[proposal.index] = {}
        self._began[proposal.index] = asyncio.get_running_loop().time()
        self._jobs.extend(Job(proposal, position) for position in range(len(proposal.signs)))

    def _wait(self, change: int) -> None:
        now = asyncio.get_running_loop().time()
        self._idle += self._waiting * (now - self._idle_until)
        self._idle_until = now
        self._waiting += change

    async def _turn(self) -> Job:
        """Wait in line for a member. Cancelling gives it to the next."""
        turn: asyncio.Future[Job] = asyncio.get_running_loop().create_future()
        self._line.append(turn)
        self._wait(+1)
        self._hand_out()
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.result().proposal.index in self._results:
                self._jobs.appendleft(turn.result())
                self._hand_out()
            raise
        finally:
            self._wait(-1)

    def _hand_out(self) -> None:
        """Give members to those who wait for one, first come first served."""
        while self._line and (self._line[0].done() or self._refill()):
            turn = self._line.popleft()
            if not turn.done():
                turn.set_result(self._jobs.popleft())

    def _refill(self) -> bool:
        if not self._jobs and not self._closed:
            slot = self._schedule.propose(self.ledger, self.version)
            if slot is not None:
                self._open(slot)
        return bool(self._jobs)

    def _open(self, slot: Slot) -> None:
        config = self._config
        proposal = Proposal(
            index=slot.index,
            seed=noise.seed_of(config.seed, slot.index),
            version=slot.version,
            sigma=strategy.sigma_at(config.sigma, config.sigma_floor, slot.version, config.updates),
            signs=config.signs,
            goals=self._goals.of(slot),
            update=slot.update,
        )
        self.ledger.enter(proposal)
        self._enlist(proposal)
        self._emit(Dispatched(proposal))

    def _close(self, proposal: Proposal, results: Sequence[Sequence[Episode]]) -> None:
        measurement = measure(proposal, results, self._seconds(proposal), self._config.min_good)
        if measurement is None:
            self._voids += 1
            self._give_up(proposal, "void")
            if self._voids >= self._config.per_update:
                why = summary(e.failure for episodes in results for e in episodes if e.failure)
                raise RunFailed(f"{self._voids} proposals in a row had too few good episodes; in the last: {why}")
            return
        self._voids = 0
        del self._results[proposal.index], self._began[proposal.index]
        self.ledger.arrive(measurement)
        self._emit(Measured(measurement))

    def _give_up(self, proposal: Proposal, reason: str) -> None:
        """Close an entry unused, stop whoever plays it, and let the schedule make up for it."""
        measurement = self.ledger.close(proposal.index)
        seconds = measurement.seconds if measurement else self._seconds(proposal)
        self._results.pop(proposal.index, None)
        self._began.pop(proposal.index, None)
        self._jobs = deque(job for job in self._jobs if job.proposal.index != proposal.index)
        for scope in self._scopes.get(proposal.index, ()):
            scope.reschedule(asyncio.get_running_loop().time())
        self._schedule.replace(proposal)
        self._emit(Dropped(proposal, reason, seconds))

    def _seconds(self, proposal: Proposal) -> float:
        return asyncio.get_running_loop().time() - self._began[proposal.index]


class GoalBatches:
    """Which training goals a proposal plays, from the run's seed alone: slices of successive shuffles of all goals.

    `pairs` compares a member only with its own opposite, so every pair has goals of its own; the other estimators
    compare members of one version (or planned update), which then share a batch.
    """

    def __init__(self, config: Config, total: int) -> None:
        self._seed = config.seed
        self._size = config.goals
        self._total = total
        self._shared = config.estimator != "pairs"
        self._epochs: dict[int, list[int]] = {}

    def of(self, slot: Slot) -> tuple[int, ...]:
        """The goals of one proposal, as positions."""
        batch = slot.index
        if self._shared:
            batch = slot.version if slot.update is None else slot.update
        start = batch * self._size
        return tuple(self._at(start + i) for i in range(self._size))

    def _at(self, position: int) -> int:
        epoch, place = divmod(position, self._total)
        if epoch not in self._epochs:
            order = np.random.default_rng([self._seed, epoch]).permutation(self._total)
            recent = list(self._epochs.items())[-_EPOCHS:]
            self._epochs = dict([*recent, (epoch, order.tolist())])
        return self._epochs[epoch][place]


def measure(
    proposal: Proposal, results: Sequence[Sequence[Episode]], seconds: float, min_good: float
) -> Measurement | None:
    """The fitness of a proposal over the goals that no member failed; None where their share is below `min_good`."""
    good = [i for i in range(len(proposal.goals)) if all(member[i].failure is None for member in results)]
    if not good or len(good) < min_good * len(proposal.goals):
        return None
    played = [episode for member in results for episode in member]
    return Measurement(
        proposal=proposal,
        fitness=tuple(sum(member[i].fitness for i in good) / len(good) for member in results),
        episodes=len(played),
        failures=sum(episode.failure is not None for episode in played),
        tokens=sum(episode.tokens for episode in played),
        turns=sum(episode.turns for episode in played),
        successes=sum(episode.success for episode in played),
        seconds=seconds,
    )


def schedule_of(config: Config, first: int = 0) -> Schedule:
    """The schedule that the settings describe, from version `first` on; synchronous ES is natural without lag."""
    if config.frozen:
        return Frozen(config.per_update, config.updates, config.max_lag, first)
    if config.stale_frac is None:
        return Natural(config.per_update, config.updates, config.on_stale == "drop", first)
    return Controlled(config.per_update, config.updates, config.max_lag, config.stale_frac, first)
