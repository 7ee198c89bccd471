"""A report as a table: on the terminal with the committed figures beside it, and as Markdown to be committed."""

from __future__ import annotations

from collections.abc import Iterator

from rich.markup import escape
from rich.table import Table

from benchmarks.comparison import TOLERANCE, verdict
from benchmarks.measure import Figure
from benchmarks.report import Report

_COLOURS = {"worse": "[bold red]worse[/]", "better": "[green]better[/]", "": ""}


def terminal(report: Report, committed: Report | None) -> Table:
    """Every figure: median, range, goal, the committed median and whether the new one has left its range."""
    title = f"{report.machine.cpu}, {report.machine.cores} cores"
    caption = f"worse, better: the median is outside the committed range by more than {TOLERANCE:.0%}"
    none = f"nothing is committed for {report.machine.kind}"
    table = Table("figure", "median", "range", "goal", "committed", "", title=title)
    table.caption = caption if committed else none
    for benchmark, figure in _rows(report):
        before = committed.figure(benchmark, figure.name) if committed else None
        name, *cells = _cells(figure)
        name += f"\n[dim]{escape(_sides(figure))}[/]" if figure.detail else ""
        table.add_row(name, *cells, _with_unit(before) if before else "", _COLOURS[verdict(figure, before)])
    return table


def markdown(report: Report) -> str:
    """The report as a page."""
    machine = report.machine
    versions = ", ".join(f"{name} {version}" for name, version in machine.versions.items())
    lines = [
        f"# Benchmarks on {machine.cpu}, {machine.cores} cores" + "".join(f", {gpu}" for gpu in machine.gpus),
        "",
        f"{versions}. Made by `python benchmarks/run.py --save` of the JSON file beside it, which has every value.",
        "Range: the lowest and the highest repetition. Load: processes that wanted a core just before.",
    ]
    for name, taken in report.benchmarks.items():
        how = f"{'quick' if taken.quick else 'full'}, {taken.repetitions} repetitions, {taken.seconds:.0f} s"
        when = f"commit {taken.commit or 'unknown'}, {taken.date}, load {taken.load:.1f}"
        lines += [
            "",
            f"## {name}",
            f"`python benchmarks/run.py {name}`, {how}; {when}",
            "",
            "| figure | median | range | goal | sides |",
            "|---|---|---|---|---|",
        ]
        lines += ["| " + " | ".join((*_cells(figure), _sides(figure))) + " |" for figure in taken.figures]
    return "\n".join(lines) + "\n"


def _rows(report: Report) -> Iterator[tuple[str, Figure]]:
    for name, taken in report.benchmarks.items():
        for figure in taken.figures:
            yield name, figure


def _cells(figure: Figure) -> tuple[str, str, str, str]:
    """Name, median, range and goal."""
    spread = f"{min(figure.values):.3g} to {max(figure.values):.3g}"
    goal = ""
    if figure.goal is not None:
        sign = ">=" if figure.better == "higher" else "<="
        goal = f"{sign} {figure.goal:g} {'met' if figure.met else 'missed'}"
    return figure.name, _with_unit(figure), spread, goal


def _with_unit(figure: Figure) -> str:
    return f"{figure.median:.3g} {figure.unit}".strip()


def _sides(figure: Figure) -> str:
    return ", ".join(f"{key} {value:.3g}" for key, value in figure.detail.items())
