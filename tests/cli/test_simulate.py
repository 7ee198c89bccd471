"""`aes simulate`: one table, the same as JSON, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Aes

SMALL = ("simulate", "--devices", "1,2", "--slots", 4, "--goals", 2, "--updates", 3, "--spread", "0,1")


def test_a_table_with_a_row_for_every_size(aes: Aes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    outcome = aes(*SMALL, "--max-lag", "0,1,2", "--json", "out.json")
    assert outcome.code == 0, outcome
    assert sum("x │" in line for line in outcome.out.splitlines()) == 8
    rows = json.loads((tmp_path / "out.json").read_text())
    sizes = [
        (row["spec"]["devices"], row["spec"]["lengths"]["spread"], row["spec"]["config"]["max_lag"]) for row in rows
    ]
    assert sizes == [(devices, spread, lag) for devices in (1, 2) for spread in (0, 1) for lag in (1, 2)]
    assert all(row["sync"]["episodes"] == row["async"]["episodes"] for row in rows)


def test_lengths_of_a_recorded_run(aes: Aes, tmp_path: Path) -> None:
    train = (
        "train",
        "--engine",
        "fake",
        "--products",
        50,
        "--updates",
        2,
        "--pairs",
        4,
        "--goals",
        4,
        "--eval-goals",
        0,
    )
    assert aes(*train, "--devices", "cpu:0", "--run-dir", "run").code == 0
    outcome = aes("simulate", "--from", "run", "--devices", 1, "--slots", 4, "--updates", 2, "--json", "out.json")
    assert outcome.code == 0, outcome
    (row,) = json.loads((tmp_path / "out.json").read_text())
    assert row["spec"]["lengths"]["turns"] > 1


def test_discarded_work_is_told_where_stragglers_are_dropped(aes: Aes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert "pairs," in aes(*SMALL, "--on-stale", "drop", "--curve", "pocket-cpu").out


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--devices", "two"), "--devices two: not whole numbers"),
        (("--devices", "0"), "--devices 0: no less than 1"),
        (("--spread", "nan"), "--spread nan: no less than 0"),
        (("--spread", "-1"), "--spread -1: no less than 0"),
        (("--max-lag", "0"), "--max-lag 0: that is the synchronous run itself"),
        (("--curve", "pocket"), "did you mean 'pocket-cpu'?"),
        (("--curve", "1,-1"), "no time is negative"),
        (("--turns", "0.5"), "turns 0.5"),
        (("--turns", "90"), "max_turns 50"),
        (("--tokens", "0"), "tokens 0"),
        (("--prompt", "-3"), "prompt -3"),
        (("--from", "nowhere"), "no journal.jsonl"),
        (("--json", "nowhere/out.json"), "there is no folder nowhere"),
        (("--json", "."), "is a folder"),
        (("--objective", "flat"), "quadratic"),
        (("--pairs", "1"), "pairs"),
    ],
)
def test_what_cannot_be_simulated(refused: Callable[..., str], flags: tuple[str, str], said: str) -> None:
    assert said in refused("simulate", "--devices", "1", "--slots", "2", "--updates", "1", "--goals", "1", *flags)
