from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

from rich.console import Console, RenderableType

from aes.events import Evaluated
from cli.view.results import one, results


def text(renderable: RenderableType) -> str:
    console = Console(file=io.StringIO(), width=100)
    console.print(renderable)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def evaluated(version: int, *scores: float) -> Evaluated:
    return Evaluated(version, scores, sum(score == 1 for score in scores), 0, 1.0)


def test_gains_are_taken_goal_by_goal() -> None:
    table = text(results({0: evaluated(0, 0.1, 0.5), 4: evaluated(4, 0.6, 1.0)}, Path("run")))
    assert "+0.500 ± 0.000" in table
    assert "50.0%" in table
    assert "best" not in table
    assert "aes eval run" in table


def test_a_better_version_on_the_way_is_named_and_called_flattered() -> None:
    table = text(results({0: evaluated(0, 0.1), 2: evaluated(2, 0.9), 4: evaluated(4, 0.5)}, Path("run")))
    assert "best" in table
    assert "flattered" in table


def test_a_run_without_evaluations_still_says_where_it_is() -> None:
    assert "run" in text(results({}, Path("run")))


def test_one_version_stands_alone_where_nothing_compares() -> None:
    table = text(one(replace(evaluated(3, 0.5, 1.0), task={"eval_split": "dev"})))
    assert "2 goals of the dev split" in table
    assert "0.750" in table
