"""`aes runs`: one line per run, whatever is in the folder, in any width."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from cli.runs import ago, find, list_runs, schedule, table
from tests.aes.runs import config
from tests.aes.test_security import EVALUATED, HEAD, MEASURED, STARTED, UPDATED, forge, sent
from tests.cli.conftest import Aes
from tests.cli.recorded_runs import cut, record

EVIL = "ev\x1b[2Jil\n\u202ename[bold]"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    record(folder / "20261130-121212-webshop-s0")
    cut(record(folder / "stopped", max_lag=4, stale_frac=1.0, lr=0.0), "Evaluated", 3)
    (folder / EVIL).mkdir()
    (folder / EVIL / "journal.jsonl").write_bytes(b"\x1b[2J\xff\n" * 9)
    (folder / "loop").symlink_to("loop")
    (folder / "unrelated").mkdir()
    for age, name in enumerate(("stopped", "20261130-121212-webshop-s0", EVIL)):
        os.utime(folder / name / "journal.jsonl", (1e9 - 100 * age, 1e9 - 100 * age))
    return folder


def shown(folder: Path, width: int) -> list[str]:
    console = Console(width=width, force_terminal=False, color_system=None)
    with console.capture() as captured:
        console.print(table(find(folder), console, now=1e9 + 5))
    return captured.get().splitlines()


def test_every_run_is_one_line(folder: Path) -> None:
    header, stopped, finished, broken, why = shown(folder, 120)
    assert header.split() == ["run", "state", "updates", "schedule", "base", "last", "score", "best", "took", "age"]
    assert stopped.split()[:2] == ["stopped", "stopped"]
    assert "lag 4 x 100%" in stopped
    assert stopped.endswith(" 5 s")
    assert finished.startswith("20261130-121212-webshop-s0  finished      6/6  lag <= 1")
    assert "±" in finished
    assert finished.endswith("1 min")
    assert broken.split() == ["ev[2Jil", "name[bold]", "broken", "3", "min"]
    assert why == "ev[2Jil name[bold]: journal.jsonl: not a journal of format 2 (use the aes it was written by)"


@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
def test_it_keeps_to_the_terminal(folder: Path, width: int) -> None:
    (folder / ("日本" * 30)).mkdir(exist_ok=True)
    (folder / ("日本" * 30) / "lock").touch()
    lines = shown(folder, width)
    assert len(lines) == 8 - (width == 200)  # with a word about columns that are left out
    assert max(map(cell_len, lines)) <= width
    assert "\x1b" not in "".join(lines)
    if width == 80:
        assert lines[0].split() == ["run", "state", "updates", "schedule", "base", "last", "score"]
        assert "a wider terminal shows took and best and age too" in lines[-1]
        assert any("2026" in line and "webshop-s0" in line and "±" in line for line in lines)


@pytest.mark.parametrize(
    ("sort", "first"), [("age", "stopped"), ("name", "2026"), ("state", "stopped"), ("score", "2026"), ("gain", "2026")]
)
def test_what_comes_first(folder: Path, sort: str, first: str, aes: Aes) -> None:
    outcome = aes("runs", folder, "--sort", sort, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    assert json.loads(outcome.out)[0]["name"].startswith(first)


def test_programs_are_told_everything(folder: Path, aes: Aes) -> None:
    finished, broken, stopped = json.loads(aes("runs", folder, "--sort", "name", "--json").out)[:3]
    assert (finished["state"], finished["updates"], finished["planned"]) == ("finished", 6, 6)
    summary = json.loads((folder / finished["name"] / "summary.json").read_text())
    assert [finished["base"], finished["last"]] == [summary["evaluations"][0], summary["evaluations"][-1]]
    assert finished["written"] == "2001-09-09T01:45:00+00:00"
    assert stopped["last"]["version"] < 6
    assert (broken["name"], broken["state"], broken["last"], broken["planned"]) == (EVIL, "broken", None, None)


def test_one_run_and_no_run(folder: Path, aes: Aes, tmp_path: Path, refused: Callable[..., str]) -> None:
    assert len(aes("runs", folder / "stopped").out.splitlines()) == 2
    (tmp_path / "runs").mkdir()
    assert aes("runs").out == "no runs in runs (aes train begins one)\n"
    assert refused("runs", "nowhere") == "nowhere: no such folder (aes train makes runs/; name another one)"
    (tmp_path / "file").touch()
    for name in ("study.json", "lock", "engine.log"):
        (tmp_path / "runs" / "grid").mkdir(exist_ok=True)
        (tmp_path / "runs" / "grid" / name).touch()
    assert aes("runs").out == "a study: aes runs runs/grid\n"
    (tmp_path / "runs" / "grid" / "arm-s0").symlink_to(folder / "stopped")
    assert aes("runs", "runs/grid").out.splitlines()[1].startswith("arm-s0  stopped")
    assert refused("runs", "file") == "file: cannot be read as a folder of runs (Not a directory)"
    assert "'age', 'name'" in refused("runs", "--sort", "size")


def test_a_pipe_gets_whole_lines(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    list_runs(folder, "name", as_json=False)
    assert "…" not in capsys.readouterr().out


def test_words() -> None:
    assert [ago(s) for s in (-5, 59, 61, 7200, 1e6)] == ["0 s", "59 s", "1 min", "2 h", "11 d"]
    schedules = ({"max_lag": 0}, {"max_lag": 2}, {"max_lag": 2, "on_stale": "drop"}, {"max_lag": 4, "stale_frac": 0.5})
    assert [schedule(config(**s)) for s in schedules] == ["sync", "lag <= 2", "lag <= 2, drop", "lag 4 x 50%"]


@pytest.mark.parametrize("command", ["runs", "watch", "compare"])
def test_numbers_that_no_task_gives_are_shown_all_the_same(command: str, aes: Aes, tmp_path: Path) -> None:
    huge = EVALUATED | {"scores": [1e308, -1e308, 1e308, 1e200], "seconds": 1e308}
    updated = UPDATED | {"fitness": -1e308, "deviation": 1e308, "seconds": 1e308, "idle": 1e300, "at": 1e308}
    again = huge | {"version": 1}
    forge(tmp_path / "a", HEAD, STARTED, huge, sent(), MEASURED, updated, again)
    arguments = ("a", "a") if command == "compare" else ("a",)
    code, _, err = aes(command, *arguments)
    assert (code, err) == (0, "")
