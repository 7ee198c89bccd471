"""`aes runs`: the runs in a folder, one line each."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from rich.cells import cell_len, set_cell_size
from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from aes.config import Config
from aes.errors import DataError
from aes.journal import NAME as JOURNAL
from aes.journal import to_json
from aes.metrics import interval, scores
from cli.glance import Glance, is_run, is_study, look
from cli.view.live import clock
from cli.view.safe_text import safe
from cli.view.terminal import unclipped

Sort = Literal["age", "name", "state", "score", "gain"]

_STYLES = {"running": "bold green", "finished": "", "stopped": "yellow", "broken": "red"}
_ORDER = ("running", "stopped", "finished", "broken")
_DROPPED = ("took", "best", "age")
"""Columns that a narrow terminal goes without, the first of them first; then names are cut."""
_LONG_NAME, _SHORTEST_NAME = 40, 12
_RIGHT = {"updates", "base", "took", "age"}


def list_runs(folder: Path, sort: Sort, *, as_json: bool) -> None:
    """Print the runs in a folder, or the one run that it is. Raises DataError where there is no such folder."""
    runs = find(folder, sort)
    if as_json:
        print(to_json([plain(run) for run in runs], indent=2))
        return
    console = unclipped(Console())
    if runs:
        console.print(table(runs, console, time.time()))
    studies = [path for path in sorted(folder.iterdir()) if is_study(path)]
    for study in studies:
        console.print(_line(f"a study: aes runs {safe(str(study))}", "dim"))
    if not runs and not studies:
        console.print(_line(f"no runs in {safe(str(folder))} (aes train begins one)", ""))


def find(folder: Path, sort: Sort = "age") -> list[Glance]:
    """The runs in a folder, sorted: the newest, the best, or the first by name come first. Raises DataError."""
    try:
        folders = [folder] if os.path.lexists(folder / JOURNAL) else [path for path in folder.iterdir() if is_run(path)]
    except FileNotFoundError:
        raise DataError(f"{folder}: no such folder (aes train makes runs/; name another one)") from None
    except OSError as error:
        raise DataError(f"{folder}: cannot be read as a folder of runs ({error.strerror})") from None
    return sorted(sorted(map(look, folders), key=lambda run: run.folder.name), key=_KEYS[sort])


def table(runs: list[Glance], console: Console, now: float) -> RenderableType:
    """The runs as a table that fits the console, and why broken ones are broken."""
    longest = max(cell_len(_name(run)) for run in runs)
    tries = [(longest, 0), *((min(longest, _LONG_NAME), count) for count in range(len(_DROPPED) + 1))]
    for longest, count in tries:
        excess = _width(_table(runs, now, _DROPPED[:count], longest), console) - console.width
        if excess <= 0:
            break
    made = _table(runs, now, _DROPPED[:count], max(longest - max(excess, 0), _SHORTEST_NAME))
    note = [_line(f"a wider terminal shows {' and '.join(_DROPPED[:count])} too", "dim")] * (count > 0)
    return Group(made, *_reasons(runs), *note)


def plain(run: Glance) -> dict[str, Any]:
    """All that is known of a run, as plain values."""
    known = {
        version: {"version": version, "split": e.split, **scores(e.scores, e.successes), "failures": e.failures}
        for version, e in sorted(run.evaluations.items())
    }
    last, best = run.last, run.best
    return {
        "name": run.folder.absolute().name,
        "folder": str(run.folder),
        "state": run.state,
        "why": run.why,
        "updates": run.version,
        "planned": run.config.updates if run.config else None,
        "schedule": run.config.schedule_name if run.config else None,
        "base": known.get(0),
        "last": None if last is None else known[last],
        "best": None if best is None else known[best],
        "seconds": run.seconds,
        "written": datetime.fromtimestamp(run.written, UTC).isoformat(timespec="seconds") if run.written else None,
    }


def schedule(config: Config) -> str:
    """The schedule in a few characters."""
    if config.max_lag == 0:
        return "sync"
    if config.stale_frac is not None:
        return f"lag {config.max_lag} x {config.stale_frac:.0%}"
    return f"lag <= {config.max_lag}" + (", drop" if config.on_stale == "drop" else "")


def score(run: Glance, version: int | None, *, half: bool = False) -> str:
    """The mean score of a version, with its 95 % interval if asked for; a dash where there is none."""
    if version is None or version not in run.evaluations:
        return "-"
    mean, width = interval(list(run.evaluations[version].scores))
    if math.isnan(mean):
        return "failed"
    return f"{mean:.3f} ± {width:.3f}" if half else f"{mean:.3f}"


def ago(seconds: float) -> str:
    """How long something is past, in one unit."""
    for name, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size:.0f} {name}"
    return f"{max(seconds, 0):.0f} s"


def _width(made: Table, console: Console) -> int:
    return Measurement.get(console, console.options.update(max_width=sys.maxsize), made).maximum


def _table(runs: list[Glance], now: float, left_out: Sequence[str], longest_name: int) -> Table:
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    columns = [name for name in _COLUMNS if name not in left_out]
    made.add_column("run", no_wrap=True)
    for column in columns:
        made.add_column(column, justify="right" if column in _RIGHT else "left", no_wrap=True)
    for run in runs:
        cells = (Text(_COLUMNS[column](run, now), style=_style(column, run)) for column in columns)
        made.add_row(Text(_cut(_name(run), longest_name)), *cells)
    return made


def _name(run: Glance) -> str:
    return safe(run.folder.absolute().name)


def _cut(name: str, most: int) -> str:
    """A name in at most so many columns of the terminal; its two ends tell more than its middle."""
    if cell_len(name) <= most:
        return name
    half = (most - 1) // 2
    return f"{set_cell_size(name, half)}…{set_cell_size(name[::-1], most - 1 - half)[::-1]}"


def _style(column: str, run: Glance) -> str:
    return _STYLES[run.state] if column == "state" else "dim" if column in ("age", "took") else ""


def _reasons(runs: list[Glance]) -> Iterator[Text]:
    for run in runs:
        if run.why:
            yield _line(f"{_name(run)}: {safe(run.why)}", "red")


def _line(words: str, style: str) -> Text:
    return Text(words, style=style, no_wrap=True, overflow="ellipsis")


def _best(run: Glance) -> str:
    if run.best is None or run.best in (0, run.last):
        return ""
    return f"{score(run, run.best)} at {run.best}"


def _mean(run: Glance, version: int | None) -> float:
    mean = interval(list(run.evaluations[version].scores))[0] if version in run.evaluations else math.nan
    return -math.inf if math.isnan(mean) else mean


def _gain(run: Glance) -> float:
    return _mean(run, run.last) - _mean(run, 0) if 0 in run.evaluations and run.last else -math.inf


_COLUMNS: dict[str, Callable[[Glance, float], str]] = {
    "state": lambda run, now: run.state,
    "updates": lambda run, now: f"{run.version}/{run.config.updates}" if run.config else "",
    "schedule": lambda run, now: schedule(run.config) if run.config else "",
    "base": lambda run, now: score(run, 0) if run.config else "",
    "last score": lambda run, now: score(run, run.last, half=True) if run.config else "",
    "best": lambda run, now: _best(run),
    "took": lambda run, now: clock(run.seconds) if run.config else "",
    "age": lambda run, now: ago(now - run.written) if run.written else "",
}
_KEYS: dict[Sort, Callable[[Glance], Any]] = {
    "age": lambda run: -run.written,
    "name": lambda run: run.folder.name,
    "state": lambda run: _ORDER.index(run.state),
    "score": lambda run: -_mean(run, run.last),
    "gain": lambda run: -_gain(run),
}
