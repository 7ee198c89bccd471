"""What a study is made of, as its folder keeps it in `study.json`: settings, grid, task, engine.

A study that goes on must be the one that was begun. Its grid alone may grow: more seeds, more arms.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import ValidationError

from aes.checks import SAME_ENGINE
from aes.config import Config, Settings, explain
from aes.errors import DataError
from aes.journal import to_json, writing
from aes.protocols import Engine, Task
from aes.study.grid import DECIDED, Grid

NAME = "study.json"
_BEFORE = {"lock", "engine.log", f"{NAME}.new"}  # what may be there before a study's plan
_FREE = DECIDED | {"run_dir"}

FLOAT_BYTES = 4
_FOLDER = 64 * 1024
_MARGIN = 1.5


class Plan(Settings):
    """A study on paper.

    Attributes:
        config: what all runs have in common; `seed` is that of the first run of an arm.
        grid: the arms, and how many seeds.
        about: what else whoever runs it must know to go on; None where a program of its own runs it.
        task, engine: their fingerprints.
        machine: what kind of machine it was begun on.
    """

    format: Literal[1] = 1
    config: Config
    grid: Grid
    about: dict[str, Any] | None
    task: dict[str, str]
    engine: dict[str, str]
    machine: str

    @classmethod
    def of(cls, task: Task, engine: Engine, config: Config, grid: Grid, about: Settings | None) -> Self:
        """The plan of a study here and now."""
        return cls(
            config=config,
            grid=grid,
            about=about.model_dump(mode="json") if about else None,
            task={"name": task.name, **task.fingerprint},
            engine=dict(engine.fingerprint),
            machine=f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        )

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """The plan of the study in a folder; None where the folder is new or empty.

        Raises DataError for a folder that holds something else.
        """
        path = folder / NAME
        try:
            if not path.is_file():
                if folder.exists() and not (folder.is_dir() and {file.name for file in folder.iterdir()} <= _BEFORE):
                    raise DataError(f"study {folder}: no {NAME} in it (name a study's folder, or a new one)")
                return None
            return cls(**json.loads(path.read_text(encoding="utf-8")))
        except OSError as error:
            raise DataError(f"study {folder}: cannot be read ({error.strerror})") from None
        except ValidationError as error:
            why = explain(error.errors(include_url=False)[0], cls.model_fields)
        except DataError:
            raise
        except (ValueError, TypeError, RecursionError) as error:
            why = str(error)
        raise DataError(f"{path}: not a study of this version of aes ({why})")

    def write(self, folder: Path) -> None:
        """Keep the plan in its folder, whole or not at all. Raises RunFailed."""
        with writing(folder / NAME):
            new = folder / f"{NAME}.new"
            new.write_text(to_json(self.model_dump(mode="json"), indent=2) + "\n", encoding="utf-8")
            new.replace(folder / NAME)

    def going_on(self, folder: Path, now: Plan) -> Plan:
        """This plan with what `now` adds to its grid. Raises DataError where `now` is of another study."""
        for what, then, here, cure in self._compared(now):
            if then != here:
                raise DataError(f"study {folder}: its {what} was {then}, here it is {here} ({cure})")
        return self.model_copy(update={"grid": self.grid.merged(now.grid)})

    def _compared(self, now: Plan) -> Iterator[tuple[str, Any, Any, str]]:
        for key in sorted({*self.task, *now.task}):
            yield f"task's {key}", self.task.get(key), now.task.get(key), "restore it, or begin another study"
        for key in SAME_ENGINE:
            yield f"engine's {key}", self.engine.get(key), now.engine.get(key), "restore it, or begin another study"
        then, here = self.settings, now.settings
        for key in sorted({*then, *here} - _FREE):
            yield key, then.get(key), here.get(key), "leave it as it was, or begin another study"

    @property
    def settings(self) -> dict[str, Any]:
        """All settings that the runs have in common, as plain values."""
        return {**(self.about or {}), **self.config.model_dump(mode="json")}

    @property
    def bytes_per_run(self) -> int:
        """What one run leaves on disk, about: journal, metrics, adapters.

        Per measurement 700 bytes and 14 for each of its goals; per update 800, and 60 for each measurement; per
        evaluation 600, 24 for each goal, and a snapshot of three numbers of 4 bytes for each that is trained (the
        factors that are not trained are of about the same size). Half of all that again for what is dropped or tried
        twice, and 64 KiB for files and folders.
        """
        config, dim = self.config, int(self.engine.get("dim", 0))
        measurement = 700 + 14 * config.goals
        update = 800 + config.per_update * (60 + measurement)
        evaluation = 600 + 24 * config.eval_goals + 3 * FLOAT_BYTES * dim
        return int(_MARGIN * (config.updates * update + self.evaluations * evaluation)) + _FOLDER

    @property
    def evaluations(self) -> int:
        """How often a run plays the held-out goals."""
        every = self.config.eval_every
        return len({0, self.config.updates, *(range(0, self.config.updates, every) if every else ())})

    @property
    def episodes_per_run(self) -> int:
        """Episodes of one run, evaluations included, when none fails."""
        return self.config.updates * self.config.episodes_per_update + self.evaluations * self.config.eval_goals
