"""What happens in a run, as records: the journal writes them, a live view and `async for event in run` read them."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import BeforeValidator

from aes.types import FailureKind, Measurement, Proposal, Update

Real = Annotated[float, BeforeValidator(lambda value: math.nan if value is None else value)]
"""A number that may be nan, which a journal writes as null."""


@dataclass(frozen=True, slots=True)
class Inherited:
    """An update of the run that this one was forked from; `digest` is that of the version it made."""

    update: Update
    digest: str


@dataclass(frozen=True, slots=True)
class Started:
    """The run is ready: version 0, made from `seed`, has this digest and `dim` numbers.

    `basis` is the digest of the file that holds A, where A starts from activations: no digest of a version covers it.
    """

    digest: str
    dim: int
    seed: int
    basis: str = ""


@dataclass(frozen=True, slots=True)
class Resumed:
    """The run goes on from its journal: engines hold `version` again."""

    version: int


@dataclass(frozen=True, slots=True)
class Dispatched:
    """A proposal went out."""

    proposal: Proposal


@dataclass(frozen=True, slots=True)
class Measured:
    """A proposal was measured; it now waits to be consumed."""

    measurement: Measurement


@dataclass(frozen=True, slots=True)
class EpisodeFailed:
    """One try of one episode failed; `excused` when no further try follows."""

    proposal: int
    goal: int
    kind: FailureKind
    reason: str
    excused: bool


@dataclass(frozen=True, slots=True)
class Dropped:
    """A proposal was given up: `late` under on_stale = drop, `void` when too few episodes were good."""

    proposal: Proposal
    reason: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Updated:
    """An update was applied: which measurements it consumed, at which lag, and where the centre is now.

    `fitness` is the mean over members and `deviation` that of what the estimator compares. `moved` maps a lag to
    ||theta_v - theta_{v-lag}|| / sigma: what that much staleness means. `skipped` says that all fitness was
    equal, so that nothing changed but the version. `seconds` have passed since the update before; `idle` is the share
    of the players' time in them that was spent without a member to play.
    """

    update: Update
    consumed: tuple[int, ...]
    lags: tuple[int, ...]
    fitness: float
    deviation: float
    digest: str
    moved: dict[int, Real]
    skipped: bool
    seconds: float
    idle: float


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The centre of a version played held-out goals: one score per goal (nan: failed), in order of the goals.

    `task` is what the scores depend on beside the policy, the task's name and fingerprint: scores of unlike tasks don't
    compare. `why` tells the failures, by kind and with the reasons that came most often. `solved` are the places of the
    goals that succeeded (none where the journal is older than that).
    """

    version: int
    scores: tuple[Real, ...]
    successes: int
    failures: int
    seconds: float
    task: Mapping[str, str] = field(default_factory=dict)
    why: str = ""
    solved: tuple[int, ...] = ()

    @property
    def split(self) -> str:
        """Which goals these are: "eval" where the task has but one held-out set."""
        return self.task.get("eval_split", "eval")


@dataclass(frozen=True, slots=True)
class EngineDown:
    """An engine was lost, or could not be opened; it is (again) opened anew, `restarts` times more at most (0: never).

    Its members are played again, by other engines or later by itself.
    """

    device: str
    reason: str
    restarts: int


@dataclass(frozen=True, slots=True)
class EngineUp:
    """A lost engine works again, `seconds` after its loss was noticed."""

    device: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Finished:
    """All updates are applied and all evaluations are in."""

    version: int
    seconds: float


Event = (
    Inherited
    | Started
    | Resumed
    | Dispatched
    | Measured
    | EpisodeFailed
    | Dropped
    | Updated
    | Evaluated
    | EngineDown
    | EngineUp
    | Finished
)


Listener = Callable[[Event], None]
"""Hears events as they happen, in the loop's thread; it must not block, and what it raises ends the run."""


class Stream:
    """A bounded queue of events for one reader, who may be slow: when full, the oldest are forgotten and counted."""

    def __init__(self, limit: int = 10_000) -> None:
        self._events: deque[Event] = deque(maxlen=limit)
        self._news = asyncio.Event()
        self._closed = False
        self.forgotten = 0

    def put(self, event: Event) -> None:
        """Add an event; never waits."""
        self.forgotten += len(self._events) == self._events.maxlen
        self._events.append(event)
        self._news.set()

    def close(self) -> None:
        """End the stream after what is in it."""
        self._closed = True
        self._news.set()

    def __aiter__(self) -> Stream:
        return self

    async def __anext__(self) -> Event:
        """The next event; cancelling loses none."""
        while not self._events:
            if self._closed:
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        return self._events.popleft()


class Bus:
    """Hands every event to every listener at once, in order; listeners must not block."""

    def __init__(self, *listeners: Listener) -> None:
        self._listeners = list(listeners)

    def subscribe(self, listener: Listener) -> None:
        """Have `listener` called with every event from now on."""
        self._listeners.append(listener)

    def emit(self, event: Event) -> None:
        """Tell every listener."""
        for listener in self._listeners:
            listener(event)
