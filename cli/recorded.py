"""A recorded run: its folder read again, and its task and engine put together as they were."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aes.checks import same
from aes.engine.pool import Pool
from aes.errors import ConfigError, DataError
from aes.events import Evaluated, Event
from aes.past import Past
from aes.protocols import Task
from cli import assemble, tasks
from cli.errors import Refused
from cli.plan import device_checks
from cli.session import View
from cli.settings import TrainSettings
from envs.webshop.catalog.splits import Split


@dataclass(frozen=True)
class Recorded:
    """What a run folder tells: where the run stands, its settings, and how its first version did."""

    past: Past
    settings: TrainSettings
    base: Evaluated | None

    @classmethod
    def read(cls, folder: Path, devices: str | None = None) -> Recorded:
        """Read a run folder, with other devices if named. Raises DataError for what is no run of ours, Refused."""
        base: list[Evaluated] = []

        def listen(event: Event) -> None:
            if isinstance(event, Evaluated) and not base:
                base.append(event)

        past = Past.read(folder, listen)
        told = past.about["about"]
        if not isinstance(told, dict):
            raise DataError(f"run {folder}: it was not made by aes train (its own program must go on with it)")
        settings = TrainSettings.parse(told | {"run_dir": str(folder)} | ({"devices": devices} if devices else {}))
        if complaints := [*tasks.checks(settings), *device_checks(settings)]:
            raise Refused(complaints)
        return cls(past, settings, base[0] if base else None)

    @property
    def given(self) -> dict[str, Any]:
        """The settings as if all had been given, but for the folder."""
        return {name: value for name, value in self.settings.model_dump().items() if name != "run_dir"}

    def version(self, wanted: int | None, flag: str = "--version") -> int:
        """A version that the run has, the last if none is wanted. Raises ConfigError, DataError."""
        last = self.past.version
        if self.past.started is None:
            raise DataError(f"run {self.past.folder}: it ended before its first version was made (begin it again)")
        if wanted is not None and not 0 <= wanted <= last:
            raise ConfigError(f"{flag} {wanted}: the run has versions 0 to {last} (name one of them)")
        return last if wanted is None else wanted

    def open(self, view: View, split: Split | None = None) -> tuple[Task, Pool]:
        """The task, held-out goals of another split if named, and the engine, not started yet.

        Raises DataError where data or model are no longer what the run had.
        """
        with view.working("loading data and model") as progress:
            catalog, task = assemble.open_ground(self.settings)
            engine = assemble.open_engine(self.settings, assemble.open_model(self.settings, catalog, progress))
        same(self.past, task, engine)
        return (assemble.other_goals(self.settings, catalog, task, split) if split else task), engine
