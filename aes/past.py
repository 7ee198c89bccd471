"""What a journal tells of its run: where it stands, what is out, and how every version was made."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, get_args

from pydantic import TypeAdapter, ValidationError

from aes import journal
from aes.errors import DataError
from aes.events import Dispatched, Dropped, Evaluated, Event, Finished, Inherited, Measured, Started, Updated
from aes.types import Measurement, Proposal, Update

_AT_ONCE = 32  # events of one turn: a millisecond or two
_KINDS = {kind.__name__: TypeAdapter(kind) for kind in get_args(Event)}


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
        past, events = cls._begin(folder)
        for seconds, event in events:
            past.apply(event)
            past.seconds = seconds
            listen(event)
        return past

    @classmethod
    async def recall(cls, folder: Path) -> Past:
        """Read the folder of a run that goes on; other tasks have their turns meanwhile. Raises DataError."""
        past, events = cls._begin(folder)
        for number, (_, event) in enumerate(events):
            past.apply(event)
            if number % _AT_ONCE == 0:
                await asyncio.sleep(0)
        return past

    @classmethod
    def _begin(cls, folder: Path) -> tuple[Past, Iterator[tuple[float, Event]]]:
        records = journal.read(folder)
        header = next(records, None)
        if header is None:
            raise DataError(f"run {folder}: its journal is empty (nothing was begun; delete the folder)")
        past = cls(folder, {name: header[name] for name in ("config", "about", "task", "engine")})
        return past, _events(folder, records)

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


def _events(folder: Path, records: Iterator[dict[str, Any]]) -> Iterator[tuple[float, Event]]:
    """The records as events, each with its time. Raises DataError for one that is none."""
    for number, record in enumerate(records, 2):
        kind, seconds = record.pop("event", None), record.pop("at", 0.0)
        try:
            event: Event = _KINDS[str(kind)].validate_python(record)
        except (KeyError, ValidationError) as error:
            raise DataError(
                f"{folder / journal.NAME}:{number}: not an event of this version of aes ({error})"
            ) from None
        yield seconds, event
