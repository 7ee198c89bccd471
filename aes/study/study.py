"""A study: the runs of a grid one after the other, on one task and on engines that are opened once.

    plan     grid x seeds -> trials, in an order that makes every part of a study a fair one: seed by seed, all arms
    trial    finished: left alone; begun: resumed; else begun, in a run folder of its own: FOLDER/arms/ARM/sSEED
    stopped  whenever: everything measured is in the journals, and the same call goes on

What a natural arm learns hangs on timing; all others depend on seeds alone, interrupted or not.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

from aes import journal
from aes.checks import check
from aes.config import Config, Settings
from aes.errors import ConfigError, DataError
from aes.lock import Lock
from aes.past import Past
from aes.protocols import Engine, Task
from aes.runtime import Run
from aes.study.grid import Arm, Grid
from aes.study.plan import Plan

_FINISHED = b'{"event":"Finished",'
_TAIL = 4096  # bytes at the end of a journal; its last event is far shorter


class Trial(NamedTuple):
    """One run of a study."""

    arm: Arm
    seed: int

    @property
    def name(self) -> str:
        """The run in a folder's name."""
        return f"{self.arm.name}/s{self.seed}"

    def folder(self, study: Path) -> Path:
        """Its run folder."""
        return study / "arms" / self.arm.name / f"s{self.seed}"


Follow = Callable[[Trial, Run], Awaitable[None]]
"""Is called with every run that has begun; the run is left when it returns."""


async def to_its_end(trial: Trial, run: Run) -> None:
    """Follow a run by waiting for its end."""
    await run.wait()


class Study:
    """The trials of a grid, in a folder; the engine must be open when they run, and is left open.

    `config` is what all arms have in common: its lag and estimator are the arms' to decide, and its seed is the first.
    `about` holds every setting of `config` and more; runs keep it, changed as their arm asks.

    Example:
        async with FakeEngine() as engine:
            await Study(task, engine, Config(updates=20), Grid(stress=True, seeds=5), Path("study")).run()

    Raises:
        ConfigError: a grid that can't be, or settings that don't fit the task or engine.
        DataError: a folder that holds something else, or a study of another task, model or setting.
    """

    def __init__(
        self, task: Task, engine: Engine, config: Config, grid: Grid, folder: Path, about: Settings | None = None
    ) -> None:
        self.folder = folder
        self._task = task
        self._engine = engine
        self._about = about
        common = Arm("synchronous").config(config, config.seed)
        plan, begun = Plan.of(task, engine, common, grid, about), Plan.read(folder)
        self.plan = begun.going_on(folder, plan) if begun else plan
        self.arms = self.plan.grid.arms(common)
        for arm in self.arms:
            check(task, engine, arm.config(common, common.seed))

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Every run of the study, in order."""
        return trials(self.plan)

    @property
    def left(self) -> tuple[Trial, ...]:
        """Runs that are not finished."""
        return tuple(trial for trial in self.trials if seconds_of(trial.folder(self.folder)) is None)

    @property
    def pace(self) -> float | None:
        """Mean seconds of the runs that are finished; None before the first."""
        took = [seconds for trial in self.trials if (seconds := seconds_of(trial.folder(self.folder))) is not None]
        return sum(took) / len(took) if took else None

    def check_disk(self) -> None:
        """Refuse to begin what the disk can't hold. Raises ConfigError."""
        needed = self.plan.bytes_per_run * len(self.left)
        there = next(folder for folder in (self.folder.absolute(), *self.folder.absolute().parents) if folder.exists())
        free = shutil.disk_usage(there).free
        if needed > free:
            raise ConfigError(
                f"study {self.folder}: {len(self.left)} runs need about {_size(needed)},"
                f" the disk has {_size(free)} free (make room, or ask for fewer seeds, arms, updates or evaluations)"
            )

    async def run(self, follow: Follow = to_its_end) -> bool:
        """Run every trial that is not finished; whether all are now.

        Ends early where `follow` returns before its run has finished. Cancelling leaves a study that goes on when this
        is called again. Raises ConfigError (the disk, or somebody else at work in the folder), and whatever ends a run.
        """
        self.check_disk()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"study {self.folder}: {error.strerror} (choose another folder)") from None
        lock = Lock(self.folder)
        try:
            self.plan.write(self.folder)
            for trial in self.left:
                async with self._open(trial) as run:
                    await follow(trial, run)
                if not run.finished:
                    return False
            return True
        finally:
            lock.release()

    def _open(self, trial: Trial) -> Run:
        """A trial's run, begun or to be gone on with. Raises DataError."""
        folder = trial.folder(self.folder)
        config = trial.arm.config(self.plan.config, trial.seed)
        if _begun(folder):
            told = Past.read(folder).about["config"]
            if told != config.model_dump(mode="json"):
                raise DataError(f"run {folder}: its settings are not those of this study (restore it, or delete it)")
            return Run.resume(self._task, self._engine, folder)
        (folder / journal.NAME).unlink(missing_ok=True)  # a run that was killed before it had written a line
        changes = {**trial.arm.changes, "seed": trial.seed}
        about = self._about.model_copy(update=changes) if self._about else None
        return Run(self._task, self._engine, config, folder, about)


def trials(plan: Plan) -> tuple[Trial, ...]:
    """Every run of a plan: seed by seed, all arms."""
    first, arms = plan.config.seed, plan.grid.arms(plan.config)
    return tuple(Trial(arm, seed) for seed in range(first, first + plan.grid.seeds) for arm in arms)


def seconds_of(run: Path) -> float | None:
    """How long a finished run took, from the end of its journal; None for a run that is not finished."""
    path = run / journal.NAME
    if not path.is_file():
        return None
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL))
        lines = file.read().splitlines(keepends=True)
    last = next((line for line in reversed(lines) if line.startswith(_FINISHED) and line.endswith(b"\n")), None)
    try:
        return float(json.loads(last)["seconds"]) if last else None
    except (ValueError, KeyError, TypeError):  # not of aes; whoever reads it whole will say so
        return None


def _begun(run: Path) -> bool:
    """Whether a run folder holds a whole line of a journal. Raises DataError for a broken one."""
    return (run / journal.NAME).is_file() and next(journal.read(run), None) is not None


def _size(size: float) -> str:
    unit = 2**30 if size >= 2**30 else 2**20
    return f"{size / unit:,.1f} {'GiB' if unit == 2**30 else 'MiB'}"
