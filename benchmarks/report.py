"""What was measured, as JSON and back: a machine, and the figures of each benchmark with how they were taken."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.machine import Machine
from benchmarks.measure import Figure


@dataclass(frozen=True)
class Taken:
    """The figures of one benchmark, taken at once.

    Attributes:
        date: day and time, UTC.
        load: processes that wanted a core just before (the mean over a minute): other work spoils figures.
        seconds: what it all took.
    """

    figures: tuple[Figure, ...]
    repetitions: int
    quick: bool
    commit: str
    date: str
    load: float
    seconds: float


@dataclass(frozen=True)
class Report:
    """Figures by benchmark, all of one machine."""

    machine: Machine
    benchmarks: dict[str, Taken] = field(default_factory=dict)

    def over(self, older: Report) -> Report:
        """This report, and whatever an older one of the same kind of machine has besides."""
        return Report(self.machine, older.benchmarks | self.benchmarks)

    def figure(self, benchmark: str, name: str) -> Figure | None:
        """A figure by its name; None where there is none."""
        taken = self.benchmarks.get(benchmark)
        return next((figure for figure in taken.figures if figure.name == name), None) if taken else None

    def write(self, path: Path) -> None:
        """Write JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"kind": self.machine.kind, **asdict(self)}, indent=1) + "\n")

    @classmethod
    def read(cls, path: Path) -> Report:
        """Read what `write` wrote."""
        values = json.loads(path.read_text())
        machine = values["machine"] | {"gpus": tuple(values["machine"]["gpus"])}
        return cls(Machine(**machine), {name: _taken(taken) for name, taken in values["benchmarks"].items()})


def _taken(values: dict[str, Any]) -> Taken:
    figures = tuple(Figure(**figure | {"values": tuple(figure["values"])}) for figure in values["figures"])
    return Taken(**values | {"figures": figures})
