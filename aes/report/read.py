"""What the journals of a run or of a study tell: scores goal by goal, lags as they were, and what it all cost."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from aes import journal
from aes.config import Config
from aes.errors import DataError
from aes.events import Evaluated, Event, Measured, Updated
from aes.metrics import Metrics
from aes.past import Past
from aes.study.grid import Arm
from aes.study.plan import NAME, Plan
from aes.study.statistics import Scores
from aes.study.study import Trial, trials


@dataclass
class RunRecord:
    """One run; hears every event of its journal.

    Attributes:
        scores: version -> a score for each held-out goal (nan: failed).
        solved: version -> 1 or 0 for each held-out goal (nan: failed, or not told by an older journal).
        moved: how far the centre had moved, over sigma, for each measurement that was stale when it was consumed.
        busy_seconds: play time of measurements that were consumed; `metrics.wasted_seconds` is that of all others.
        idle_seconds, update_seconds: seconds without a member to play, as shares of one player's time, and in all.
        seconds: how long the run took.
    """

    config: Config = field(default_factory=Config)
    metrics: Metrics = field(default_factory=Metrics)
    scores: dict[int, Scores] = field(default_factory=dict)
    solved: dict[int, Scores] = field(default_factory=dict)
    moved: list[float] = field(default_factory=list)
    busy_seconds: float = 0.0
    idle_seconds: float = 0.0
    update_seconds: float = 0.0
    seconds: float = 0.0
    finished: bool = False
    _waiting: dict[int, float] = field(default_factory=dict)

    @property
    def seed(self) -> int:
        """The run's seed."""
        return self.config.seed

    def __call__(self, event: Event) -> None:
        """Take in one event."""
        self.metrics(event)
        match event:
            case Evaluated():
                self._evaluated(event)
            case Measured(measurement):
                self._waiting[measurement.proposal.index] = measurement.seconds
            case Updated():
                self._updated(event)

    def _evaluated(self, event: Evaluated) -> None:
        scores = np.array(event.scores, dtype=np.float64)
        scores[~np.isfinite(scores)] = math.nan
        solved = np.full(len(scores), math.nan)
        if len(event.solved) == event.successes:
            solved = np.where(np.isnan(scores), math.nan, 0.0)
            solved[list(event.solved)] = 1.0
        self.scores[event.version], self.solved[event.version] = scores, solved

    def _updated(self, event: Updated) -> None:
        self.busy_seconds += sum(self._waiting.pop(index, 0.0) for index in event.consumed)
        self.idle_seconds += event.idle * event.seconds
        self.update_seconds += event.seconds
        moved = [event.moved.get(lag, math.nan) for lag in event.lags if lag > 0]
        self.moved += [distance for distance in moved if not math.isnan(distance)]


@dataclass(frozen=True)
class Material:
    """All that a report is made from.

    Attributes:
        folder: the run or study.
        runs: the runs of each arm that are finished, in the order of the grid; a lone run is an arm by itself.
        unfinished: names of runs that are not finished, or not begun.
        about: the settings that all runs have in common.
        task, engine: fingerprints.
        machine: what kind it was; empty where nobody wrote it down.
        study: whether it is one.
    """

    folder: Path
    runs: dict[Arm, list[RunRecord]]
    unfinished: list[str]
    about: dict[str, Any]
    task: dict[str, Any]
    engine: dict[str, Any]
    machine: str
    study: bool


def read(folder: Path) -> Material:
    """Read a run or a study. Raises DataError for what is neither, is broken, or has nothing to tell yet."""
    try:
        return _read_study(folder) if (folder / NAME).is_file() else _read_run(folder)
    except OSError as error:
        raise DataError(f"{folder}: cannot be read ({error.strerror})") from None


def _read_study(folder: Path) -> Material:
    plan = Plan.read(folder)
    assert plan is not None
    runs: dict[Arm, list[RunRecord]] = {}
    unfinished = []
    for trial in trials(plan):
        record = _trial(folder, plan, trial)
        if record is None or not record.finished:
            unfinished.append(trial.name)
        else:
            runs.setdefault(trial.arm, []).append(record)
    if not runs:
        raise DataError(f"study {folder}: none of its runs is finished yet (go on with it first)")
    return Material(folder, runs, unfinished, plan.settings, plan.task, plan.engine, plan.machine, study=True)


def _read_run(folder: Path) -> Material:
    if not (folder / journal.NAME).is_file():
        raise DataError(f"{folder}: neither a run nor a study (no {journal.NAME} and no {NAME} in it)")
    past, record = _record(folder)
    if not record.scores:
        raise DataError(f"run {folder}: it has not been evaluated yet (go on with it first)")
    about = {**(past.about["about"] or {}), **past.about["config"]}
    unfinished = [] if record.finished else [f"{folder} (at version {past.version} of {record.config.updates})"]
    arm = arm_of(record.config)
    task, engine = past.about["task"], past.about["engine"]
    return Material(folder, {arm: [record]}, unfinished, about, task, engine, "", study=False)


def _trial(folder: Path, plan: Plan, trial: Trial) -> RunRecord | None:
    """One run of a study, or None where it has not begun. Raises DataError where it is of another study."""
    run = trial.folder(folder)
    if not (run / journal.NAME).is_file() or next(journal.read(run), None) is None:
        return None
    past, record = _record(run)
    if record.config != trial.arm.config(plan.config, trial.seed):
        raise DataError(f"run {run}: its settings are not those of the study (restore it, or delete it)")
    if any(len(scores) != record.config.eval_goals for scores in record.scores.values()):
        raise DataError(f"run {run}: it was not evaluated on the study's {record.config.eval_goals} goals (restore it)")
    unlike = {key for key in {*plan.task, *past.about["task"]} if plan.task.get(key) != past.about["task"].get(key)}
    if unlike:
        raise DataError(f"run {run}: its task's {min(unlike)} is not that of the study (restore it, or delete it)")
    return record


def _record(run: Path) -> tuple[Past, RunRecord]:
    record = RunRecord()
    past = Past.read(run, record)
    record.config = Config.parse(past.about["config"])
    record.finished, record.seconds = past.finished, past.seconds
    return past, record


def arm_of(config: Config) -> Arm:
    """The arm that a run of these settings is."""
    estimator, lag = config.estimator, config.max_lag
    if config.frozen:
        return Arm("frozen", estimator, lag)
    if lag == 0:
        return Arm("synchronous", estimator)
    if config.stale_frac is not None:
        return Arm("controlled", estimator, lag, config.stale_frac)
    return Arm("natural", estimator, lag, on_stale=config.on_stale)
