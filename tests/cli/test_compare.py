"""`aes compare`: settings that differ, scores side by side, differences paired by goals."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, stdev

import pytest

from cli.compare import differences, letter
from cli.glance import glance
from tests.cli.conftest import Aes
from tests.cli.recorded_runs import cut, record


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    record(folder / "one")
    record(folder / "two", seed=1, stale_frac=0.5, max_lag=2)
    cut(record(folder / "half", sigma=0.5), "Evaluated", 3)
    record(folder / "other", task="shelves")
    return folder


def test_runs_side_by_side(folder: Path, aes: Aes) -> None:
    code, out, err = aes("compare", folder / "one", folder / "two", folder / "half")
    assert (code, err) == (0, "")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "finished 6 of 6 updates in 0:0" in lines[0]
    assert lines[6:10] == ["seed 0 1 0", "sigma 1.0 1.0 0.5", "max_lag 1 2 1", "stale_frac - 0.5 -"]
    (base,) = [line for line in lines if line.startswith("0 ")]
    assert base.count("±") == 3
    assert lines.index("differences, goal by goal") > lines.index(base)
    assert any(line.startswith("B - A") and "at version 6, 5 goals" in line for line in lines)
    assert sum(line.startswith("C - A") for line in lines) == 2  # at the last common version, and the last of each


def test_differences_are_paired(folder: Path) -> None:
    one, two = glance(folder / "one"), glance(folder / "two")
    (found,) = differences(two, one)
    apart = [b - a for a, b in zip(one.evaluations[6].scores, two.evaluations[6].scores, strict=True)]
    assert (found.version, found.goals) == (6, 5)
    assert found.mean == pytest.approx(fmean(apart))
    assert found.half == pytest.approx(1.96 * stdev(apart) / math.sqrt(5))


def test_programs_get_the_same(folder: Path, aes: Aes) -> None:
    told = json.loads(aes("compare", "--json", folder / "one", folder / "two", folder / "half").out)
    assert told["settings"] == {
        "seed": [0, 1, 0], "sigma": [1.0, 1.0, 0.5], "max_lag": [1, 2, 1], "stale_frac": [None, 0.5, None]
    }  # fmt: skip
    assert [run["name"] for run in told["runs"]] == ["one", "two", "half"]
    assert [(f["run"], f["version"], f["reference_version"]) for f in told["differences"]] == [
        ("two", 6, 6), ("half", 4, 4), ("half", 4, 6)
    ]  # fmt: skip


def test_scores_of_unlike_tasks_have_no_difference(folder: Path, aes: Aes) -> None:
    out = " ".join(aes("compare", folder / "one", folder / "other").out.split())
    assert "task name shelf shelves" in out
    assert out.count("evaluations of unlike tasks don't compare") == 1


def test_a_run_without_an_evaluation(folder: Path, tmp_path: Path, aes: Aes) -> None:
    cut(record(tmp_path / "begun"), "Started")
    code, out, err = aes("compare", folder / "one", "begun")
    assert (code, err) == (0, "")
    assert "B - A  -  not evaluated yet" in out


def test_many_runs_in_a_narrow_terminal(folder: Path, aes: Aes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    code, out, _ = aes("compare", *[folder / "one", folder / "two"] * 3)
    assert code == 0
    assert max(map(len, out.splitlines())) <= 50
    assert out.count("mean score") == 3
    assert [letter(n) for n in (0, 25, 26, 27, 701, 702)] == ["A", "Z", "AA", "AB", "ZZ", "AAA"]


def test_what_cannot_be_compared_is_one_line(folder: Path, refused: Callable[..., str], tmp_path: Path) -> None:
    assert refused("compare", folder / "one") == "aes compare takes two runs or more (aes runs shows one)"
    assert "no journal.jsonl in it" in refused("compare", folder / "one", folder)
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "journal.jsonl").touch()
    assert "its journal is empty" in refused("compare", folder / "one", "empty")
