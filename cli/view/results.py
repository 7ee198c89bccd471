"""What a run came to, as a table: the base model against what was trained, on goals held out from training."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from aes.events import Evaluated
from aes.metrics import gain, interval, wilson


def results(evaluations: Mapping[int, Evaluated], folder: Path) -> RenderableType:
    """Base, best and last version with 95 % intervals; gains are per goal, so their intervals are of differences."""
    where = Text(f"Everything is in {folder} (try: aes eval {folder})", style="dim")
    if not evaluations:
        return where
    last, best = max(evaluations), max(evaluations, key=lambda version: (_mean(evaluations[version]), version))
    goals = len(evaluations[last].scores)
    split = evaluations[last].split
    table = Table(
        title=f"{goals} held-out goals of the {split} split, 95 % intervals", title_justify="left", title_style="bold"
    )
    for column in ("", "version", "mean reward", "success", "gain over base"):
        table.add_column(column, justify="left" if not column else "right")
    named = {0: "base"} | ({best: "best"} if best not in (0, last) else {}) | ({last: "trained"} if last else {})
    for version, name in named.items():
        if version in evaluations:
            table.add_row(*_row(name, version, evaluations[version], evaluations.get(0)))
    note = [Text("best is the best of several on these goals: a little flattered", style="dim")] * (
        best not in (0, last)
    )
    return Group(table, *note, where)


def one(evaluation: Evaluated, base: Evaluated | None = None) -> RenderableType:
    """One version's evaluation, and its gain where the base played the same goals."""
    goals = len(evaluation.scores)
    title = f"{goals} goals of the {evaluation.split} split, {evaluation.failures} failed, 95 % intervals"
    table = Table(title=title, title_justify="left", title_style="bold")
    for column in ("version", "mean reward", "success", "gain over base"):
        table.add_column(column, justify="right")
    table.add_row(*_row("", evaluation.version, evaluation, base)[1:])
    return table


def _row(name: str, version: int, evaluation: Evaluated, base: Evaluated | None) -> list[str]:
    mean, half = interval(list(evaluation.scores))
    goals = len(evaluation.scores) - evaluation.failures
    low, high = wilson(evaluation.successes, goals)
    success = f"{evaluation.successes / max(goals, 1):.1%} ({low:.1%} to {high:.1%})"
    return [name, str(version), f"{mean:.3f} ± {half:.3f}", success, _gain(evaluation, base)]


def _gain(evaluation: Evaluated, base: Evaluated | None) -> str:
    if base is None or base is evaluation or len(base.scores) < len(evaluation.scores):
        return "-"
    mean, half = gain(evaluation, base)
    return f"{mean:+.3f} ± {half:.3f}"


def _mean(evaluation: Evaluated) -> float:
    return interval(list(evaluation.scores))[0]
