"""Run the benchmarks: a table beside the committed figures of such a machine, and `benchmarks/results.json`.

python benchmarks/run.py [--quick] [--repetitions N] [--save [FILE]] [NAME ...]

Without names all run but the long ones. Each is a ratio, or a number with what it should be, over repetitions.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

from rich.console import Console

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks import table
from benchmarks.machine import ROOT, Machine, commit
from benchmarks.measure import Benchmark, Effort
from benchmarks.report import Report, Taken

NAMES = (
    "turn_cost", "update_cost", "webshop", "engine_share", "adapters", "member_swap", "lag", "usual_loop", "startup"
)  # fmt: skip
LONG = ("memory", "million")
"""Run only where they are named."""

WIDTH = 150
"""Columns of the table where it does not go to a terminal."""

RESULTS = Path(__file__).parent / "results.json"
COMMITTED = ROOT / "docs" / "benchmarks"


def main() -> None:
    given = _arguments()
    machine, console = Machine.here(), Console(width=None if sys.stdout.isatty() else WIDTH)
    effort = Effort(given.repetitions or (1 if given.quick else 5), given.quick)
    report = Report(machine, {name: _take(name, effort, console) for name in given.names})
    kept = COMMITTED / f"{machine.kind}.json"
    committed = Report.read(kept) if kept.is_file() else None
    console.print(table.terminal(report, committed))
    report.write(RESULTS)
    if given.save is not None:
        target = given.save if given.save != Path() else kept
        if target.is_file():
            report = report.over(Report.read(target))
        report.write(target)
        target.with_suffix(".md").write_text(table.markdown(report))


def _arguments() -> argparse.Namespace:
    known = [*NAMES, *LONG]
    parser = argparse.ArgumentParser(description="aes benchmarks")
    parser.add_argument("names", nargs="*", help=f"some of {', '.join(known)} (default: all but {', '.join(LONG)})")
    parser.add_argument("--quick", action="store_true", help="small cases, one repetition")
    parser.add_argument("--repetitions", type=int, help="of each measurement (default: 5)")
    parser.add_argument(
        "--save", nargs="?", type=Path, const=Path(), metavar="FILE",
        help="keep the figures as those to compare with; others in the file stay (docs/benchmarks/KIND.json)",
    )  # fmt: skip
    given = parser.parse_args()
    if unknown := sorted(set(given.names) - set(known)):
        parser.error(f"unknown benchmark {', '.join(unknown)}; choose from {', '.join(known)}")
    if given.repetitions is not None and given.repetitions < 1:
        parser.error(f"--repetitions {given.repetitions}: measure at least once")
    if given.save not in (None, Path()) and given.save.suffix != ".json":
        parser.error(f"--save {given.save}: no JSON file (give FILE.json, or --save after the names)")
    given.names = given.names or list(NAMES)
    return given


def _take(name: str, effort: Effort, console: Console) -> Taken:
    """Run one benchmark."""
    date, load, began = f"{datetime.now(UTC):%Y-%m-%d %H:%M}", os.getloadavg()[0], time.perf_counter()
    with console.status(name):
        figures = _benchmark(name)(effort)
    seconds = time.perf_counter() - began
    console.print(f"{name}: {seconds:.0f} s")
    return Taken(tuple(figures), effort.repetitions, effort.quick, commit(), date, load, seconds)


def _benchmark(name: str) -> Benchmark:
    """A benchmark by its name; imported only now, since some need vLLM."""
    if name == "million":
        from benchmarks import webshop

        return webshop.million
    found: Benchmark = import_module(f"benchmarks.{name}").figures
    return found


if __name__ == "__main__":
    main()
