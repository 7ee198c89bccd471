"""What a journal tells of its run: where it stands, what is out, and how every version was made."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, get_args

from pydantic import TypeAdapter, ValidationError

from aes.config import explain
from aes.errors import DataError
from aes.events import Dispatched, Dropped, Evaluated, Event, Finished, Inherited, Measured, Started, Updated
from aes.journal import Reader
from aes.types import Measurement, Proposal, Update

_AT_ONCE = 32  # events of one turn: a millisecond or two
_LARGEST_FLOAT = 3.4e38  # of 32 bits
_KINDS: dict[str, TypeAdapter[Any]] = {kind.__name__: TypeAdapter(kind) for kind in get_args(Event)}


@dataclass
class About:
    """What the first record of a journal tells of the run."""

    config: dict[str, Any]
    about: dict[str, Any] | None
    task: dict[str, Any]
    engine: dict[str, Any]


_ABOUT = TypeAdapter(About)


class Applied(NamedTuple):
    """An update and the digest of the version it made."""

    update: Update
    digest: str


@dataclass
class Past:
    """The state of a run after the events of its journal.

    Attributes:
        folder: the run folder.
        about: what the run was told: "config", "about", "task", "engine", each plain values.
        started: version 0; None for a run that died before it was made.
        updates: every update in order, those of the run it was forked from included.
        first: the version that this run itself began at.
        open: proposals that are out, by index, in order of dispatch.
        arrived: measurements of open proposals that wait to be consumed, in order of arrival.
        dispatched: indices of all proposals ever sent out.
        replaced: proposals that came to nothing, in order.
        voids: how many of the last proposals in a row were void.
        evaluated: versions that were evaluated.
        finished: whether the run reached its end.
        seconds: when its last event happened.
    """

    folder: Path
    about: dict[str, Any]
    started: Started | None = None
    updates: list[Applied] = field(default_factory=list)
    first: int = 0
    open: dict[int, Proposal] = field(default_factory=dict)
    arrived: dict[int, Measurement] = field(default_factory=dict)
    dispatched: set[int] = field(default_factory=set)
    replaced: list[Proposal] = field(default_factory=list)
    voids: int = 0
    evaluated: set[int] = field(default_factory=set)
    finished: bool = False
    seconds: float = 0.0

    @classmethod
    def read(cls, folder: Path, listen: Callable[[Event], None] = lambda event: None) -> Past:
        """Read a run folder; `listen` hears every event again. Raises DataError for what is no run or a broken one."""
        past, events = cls.begin(Reader(folder))
        for event in events:
            listen(event)
        return past

    @classmethod
    async def recall(cls, folder: Path) -> Past:
        """Read the folder of a run that goes on; other tasks have their turns meanwhile. Raises DataError."""
        past, events = cls.begin(Reader(folder))
        for number, _ in enumerate(events):
            if number % _AT_ONCE == 0:
                await asyncio.sleep(0)
        return past

    @classmethod
    def begin(cls, reader: Reader) -> tuple[Past, Iterator[Event]]:
        """What the first record tells, and the events after it, which are taken in as they are asked for.

        Raises DataError for what is no run or a broken one.
        """
        folder = reader.path.parent
        for path in folder.rglob("*"):
            if path.is_symlink():
                name = path.relative_to(folder)
                raise DataError(f"run {folder}: {name} is a link; a run's files are its own (copy it, or delete it)")
        header = next(reader.records(), None)
        if header is None:
            raise DataError(f"run {folder}: its journal is empty (nothing was begun; delete the folder)")
        try:
            past = cls(folder, vars(_ABOUT.validate_python(header)))
        except ValidationError as error:
            raise DataError(f"{reader.path}:1: not the beginning of a run ({_first(error)})") from None
        return past, past.catch_up(reader)

    def catch_up(self, reader: Reader) -> Iterator[Event]:
        """The events that the journal holds by now and that were not heard yet. Raises DataError."""
        for record in reader.records():
            yield self.hear(record, f"{reader.path}:{reader.number}")

    def cut(self, version: int) -> Past:
        """The start of a run of its own at one version of this one. Raises DataError where there is no such version."""
        self.digest(version)
        return Past(self.folder, self.about, self.started, self.updates[:version], first=version)

    @property
    def version(self) -> int:
        """The newest version."""
        return len(self.updates)

    def digest(self, version: int) -> str:
        """The digest that a version had. Raises DataError where the run had no such version."""
        if self.started is None or not 0 <= version <= self.version:
            raise DataError(f"run {self.folder}: it has no version {version} (versions 0 to {self.version})")
        return self.started.digest if version == 0 else self.updates[version - 1].digest

    def apply(self, event: Event) -> None:
        """Take in one more event."""
        match event:
            case Inherited():
                self.updates.append(Applied(event.update, event.digest))
                self.first = self.version
            case Started():
                self.started = event
            case Dispatched(proposal):
                self.open[proposal.index] = proposal
                self.dispatched.add(proposal.index)
            case Measured(measurement):
                self.arrived[measurement.proposal.index] = measurement
                self.voids = 0
            case Dropped(proposal):
                self._close(proposal.index)
                self.replaced.append(proposal)
                self.voids += event.reason == "void"
            case Updated():
                self.updates.append(Applied(event.update, event.digest))
                for index in event.consumed:
                    self._close(index)
            case Evaluated():
                self.evaluated.add(event.version)
            case Finished():
                self.finished = True

    def _close(self, index: int) -> None:
        self.open.pop(index, None)
        self.arrived.pop(index, None)

    def flaw(self, event: Event) -> str:
        """What is wrong with an event after those before it; nothing in the journal of any run of aes."""
        match event:
            case Started() if self.started is not None:
                return "the run begins a second time"
            case Inherited(update) | Updated(update) if update.version != self.version:
                return f"an update of version {update.version} where {self.version} is next"
            case Inherited(update) | Updated(update) if not _sound(update):
                return "an update by a seed or a number that no update has"
            case Updated() if not event.consumed or len(event.lags) != len(event.consumed):
                return "an update without measurements, or without their lags"
            case Updated() if not set(event.consumed) <= set(self.arrived):
                return "an update made of what was not measured"
            case Dispatched(proposal):
                return self._flaw_of(proposal)
            case Measured(Measurement(proposal)) if proposal.index in self.arrived:
                return f"proposal {proposal.index} is measured twice"
            case Measured(Measurement(proposal)) | Dropped(proposal) if self.open.get(proposal.index) != proposal:
                return f"proposal {proposal.index} was not sent out like that"
            case Evaluated() if not 0 <= event.version <= self.version:
                return f"version {event.version} is evaluated before it is made"
            case Evaluated() if not counted(event):
                return "an evaluation with more successes and failures than goals"
        return ""

    def _flaw_of(self, proposal: Proposal) -> str:
        if proposal.index in self.dispatched:
            return f"proposal {proposal.index} is sent out twice"
        if proposal.signs not in ((1,), (1, -1)) or not proposal.goals or min(proposal.goals) < 0:
            return f"proposal {proposal.index} is none"
        if not (0 <= proposal.version <= self.version and 0 <= proposal.seed < 2**32 and proposal.index >= 0):
            return f"proposal {proposal.index} is of no version or seed"
        return ""

    def hear(self, record: dict[str, Any], where: str) -> Event:
        """Take in the next record, found at `where`, and return the event in it. Raises DataError for what is none."""
        kind, seconds = str(record.pop("event", None)), record.pop("at")
        if kind not in _KINDS:
            raise DataError(f"{where}: not an event of this version of aes ({kind[:40]!r})")
        try:
            event: Event = _KINDS[kind].validate_python(record)
        except ValidationError as error:
            raise DataError(f"{where}: not an event of this version of aes ({_first(error)})") from None
        if flaw := self.flaw(event):
            raise DataError(f"{where}: {flaw}; no run of aes wrote that (restore the journal)")
        self.apply(event)
        self.seconds = seconds
        return event


def counted(evaluation: Evaluated) -> bool:
    """Whether an evaluation's successes and failures are of its goals."""
    good, failed = evaluation.successes, evaluation.failures
    if evaluation.solved and not (min(evaluation.solved) >= 0 and max(evaluation.solved) < len(evaluation.scores)):
        return False
    return good >= 0 and failed >= 0 and good + failed <= len(evaluation.scores)


def _sound(update: Update) -> bool:
    numbers = [update.shrink, update.momentum, *(term.coefficient for term in update.terms)]
    return all(0 <= t.seed < 2**32 for t in update.terms) and all(abs(n) <= _LARGEST_FLOAT for n in numbers)


def _first(error: ValidationError) -> str:
    return explain(error.errors(include_url=False)[0], ())
