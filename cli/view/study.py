"""A study on the terminal: what it is made of and how long it will take, and a line for every run that is done."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Self

from rich.console import Console, RenderableType
from rich.panel import Panel
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.text import Text

from aes.events import EngineDown, EngineUp, Evaluated, Event, Updated
from aes.metrics import interval
from aes.runtime import Run
from aes.study import Study, Trial
from cli.plan import Plan
from cli.view.board import engine_words
from cli.view.live import clock
from cli.view.report import Row, cohort, ground, table

RATES = {"fake engine": 250.0, "pocket policy": 60.0}
"""Episodes a second on two cores, for an estimate before the first run has told."""


def headline(drawn: Plan, study: Study) -> RenderableType:
    """What a study is made of: the task and engine of all runs, the arms, and what is still to be done."""
    rows = [*ground(drawn), *_rows(drawn, study)]
    return Panel(table(rows), title="[bold]aes[/] study", title_align="left", border_style="dim")


def _rows(drawn: Plan, study: Study) -> Iterator[Row]:
    plan, left = study.plan, len(study.left)
    config = plan.config
    members = cohort(drawn) if len(plan.grid.estimators) == 1 else f"{config.pairs} pairs or {2 * config.pairs} members"
    step = f"sigma {config.sigma:g}, lr {config.lr:g}"
    yield "each run", f"{config.updates} updates of {members} x {config.goals} goals, {step}"
    yield "evaluations", f"{plan.evaluations} a run, of {config.eval_goals} goals"
    yield "arms", f"{len(study.arms)}: {', '.join(arm.name for arm in study.arms)}"
    seeds = plan.grid.seeds
    yield (
        "seeds",
        f"{seeds}, from {config.seed}: {len(study.trials)} runs"
        + (f", of which {len(study.trials) - left} are done" if left < len(study.trials) else ""),
    )
    yield "episodes", f"{plan.episodes_per_run:,} a run, {plan.episodes_per_run * left:,} to be played"
    yield "time", _time(drawn, study, left)
    yield "disk", f"about {plan.bytes_per_run * left / 2**20:,.0f} MiB"
    yield "study folder", str(study.folder)


def _time(drawn: Plan, study: Study, left: int) -> str:
    if not left:
        return "none: all runs are done"
    if (pace := study.pace) is not None:
        return f"about {clock(pace * left)}, by the runs that are done"
    kind = drawn.settings.kind
    if kind not in RATES:
        return "not known before the first run is done"
    seconds = study.plan.episodes_per_run * left / RATES[kind]
    return f"about {clock(seconds)} at {RATES[kind]:g} episodes a second, a guess that the first run will mend"


def done(study: Study) -> RenderableType:
    """What to do with a study that is done."""
    return Text(f"All {len(study.trials)} runs are in {study.folder} (try: aes report {study.folder})", style="dim")


class StudyView:
    """One line for each run that is done; on a terminal, bars for the study and the run beneath. Enter it to show."""

    def __init__(self, study: Study, console: Console, updates: int) -> None:
        self._console = console
        self._total, self._done = len(study.trials), len(study.trials) - len(study.left)
        self._updates = updates
        self._took: list[float] = [] if study.pace is None else [study.pace]
        columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[note]}")
        self._bars = Progress(
            *columns, console=console, transient=True, disable=not console.is_terminal,
            redirect_stdout=False, redirect_stderr=False,
        )  # fmt: skip
        self._all = self._bars.add_task("study", total=self._total, completed=self._done, note="")
        self._one: TaskID | None = None
        self._skipped = 0

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def begin(self, trial: Trial, run: Run) -> None:
        """A run begins, or goes on."""
        self._skipped = 0
        self._one = self._bars.add_task(trial.name, total=self._updates, completed=run.metrics.version, note="")
        self._bars.update(self._all, note=self._note())

    def note(self, event: Event) -> None:
        """Take in an event of the run that is being played."""
        assert self._one is not None
        match event:
            case Updated():
                self._skipped += event.skipped
                self._bars.update(self._one, completed=event.update.version + 1)
            case Evaluated():
                self._bars.update(self._one, note=f"held out {interval(list(event.scores))[0]:.3f}")
            case EngineDown() | EngineUp():
                self._say(engine_words(event))
            case _:
                pass

    def end(self, trial: Trial, run: Run) -> None:
        """A run is done."""
        assert self._one is not None
        self._bars.remove_task(self._one)
        took = float(run.summary()["seconds"])
        self._done, self._took = self._done + 1, [*self._took, took]
        self._bars.update(self._all, completed=self._done, note=self._note())
        place = f"[{self._done:{len(str(self._total))}}/{self._total}]"
        self._say(f"{place} {trial.name:<28} {_scores(run)}  {clock(took):>6}{self._skips()}; {self._note()}")

    def _skips(self) -> str:
        return f", {self._skipped} updates skipped: all fitness equal" if self._skipped else ""

    def _note(self) -> str:
        left = self._total - self._done
        if not left:
            return "that was the last"
        return f"{clock(left * _mean(self._took))} left" if self._took else "time left: told by the first run"

    def _say(self, line: str) -> None:
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)


def _scores(run: Run) -> str:
    """The first and last held-out score of a run."""
    evaluations = run.metrics.evaluations
    if not evaluations:
        return "not evaluated"
    first, last = (interval(list(evaluations[version].scores))[0] for version in (min(evaluations), max(evaluations)))
    return f"held out {first:.3f} -> {last:.3f}"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan
