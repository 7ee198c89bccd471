"""Run every benchmark: a table on the terminal and `benchmarks/results.json`.

python benchmarks/run.py [--repetitions N] [NAME ...]
    names: turn_cost, update_cost, webshop, million, lag, adapters, memory
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks import adapters, lag, memory, turn_cost, update_cost, webshop

ALL = {
    "turn_cost": turn_cost.figures,
    "update_cost": update_cost.figures,
    "webshop": webshop.figures,
    "million": webshop.million,
    "lag": lag.figures,
    "adapters": adapters.figures,
    "memory": memory.figures,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="aes benchmarks")
    parser.add_argument("names", nargs="*", default=list(ALL), help=f"some of {', '.join(ALL)} (default: all)")
    parser.add_argument("--repetitions", type=int, default=5)
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(ALL):
        parser.error(f"unknown benchmark {', '.join(sorted(unknown))}; choose from {', '.join(ALL)}")
    table = Table("benchmark", "median", "range", "sides", title=f"{arguments.repetitions} repetitions")
    found = [figure for name in arguments.names for figure in ALL[name](arguments.repetitions)]
    for figure in found:
        table.add_row(*figure.row)
    Console().print(table)
    path = Path(__file__).parent / "results.json"
    path.write_text(json.dumps([asdict(figure) for figure in found], indent=2) + "\n")


if __name__ == "__main__":
    main()
