"""`aes study` from the command line, on the fake engine."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from aes.past import Past
from aes.report.content import content
from aes.report.figures import figures
from aes.report.read import read
from benchmarks.kills import kill_at, start
from tests.cli.conftest import Aes

FLAGS = (
    *("--engine", "fake", "--products", 60, "--pairs", 2, "--goals", 1, "--updates", 5, "--eval-every", 0),
    *("--eval-goals", 5, "--natural", "none", "--lags", 2, "--fracs", "0.5,1", "--no-stress"),
)


def digests(study: Path) -> dict[str, list[str]]:
    """Of every run: its name and the digest of each version."""
    runs = sorted(study.glob("arms/*/*"))
    return {f"{run.parent.name}/{run.name}": [made.digest for made in Past.read(run).updates] for run in runs}


def test_a_study_is_planned_run_grown_and_not_run_twice(aes: Aes, tmp_path: Path) -> None:
    planned = aes("study", "study", *FLAGS, "--seeds", 1, "--dry-run")
    assert (planned.code, planned.err, list(tmp_path.glob("study"))) == (0, "", [])
    for words in ("3: sync, lag-2-frac-0.5, lag-2-frac-1", "1, from 0: 3 runs", "30 a run, 90 to be played", "a guess"):
        assert words in planned.out
    code, out, err = aes("study", "study", *FLAGS, "--seeds", 1)
    assert (code, err) == (0, "")
    assert out.index("starting the engine") < out.index("[1/3] sync/s0") < out.index("[3/3] lag-2-frac-1/s0")
    made = digests(tmp_path / "study")
    assert len(made) == len({tuple(run) for run in made.values()}) == 3

    again = aes("study", "study")
    assert "of which 3 are done" in again.out
    assert "starting" not in again.out
    grown = aes("study", "study", "--natural", 1, "--on-stale", "wait,drop", "--lags", "none", "--seeds", 2)
    assert (grown.code, grown.err) == (0, "")
    assert "by the runs that are done" in grown.out
    assert len(digests(tmp_path / "study")) == 2 * 5
    assert digests(tmp_path / "study").items() > made.items()
    assert (
        "10: sync, natural-1"
        in aes("study", "study", "--estimators", "pairs,zscore", "--on-stale", "wait", "--dry-run").out
    )


def test_every_arm_is_a_run_for_all_other_commands(aes: Aes, tmp_path: Path) -> None:
    flags = (*FLAGS[:-5], "--natural", 1, "--lags", "none", "--updates", 17, "--seeds", 1)
    assert aes("study", "study", *flags).code == 0
    runs = sorted((tmp_path / "study" / "arms").glob("*/s0"))
    assert [run.parent.name for run in runs] == ["all-stale-16", "frozen-4", "natural-1", "sync"]
    for run in runs:
        assert "every digest is the run's" in aes("replay", run).out
    assert aes("eval", runs[1], "--version", 3, "--goals", 3).code == 0
    assert aes("fork", runs[1], "--at", 4, "--updates", 6, "--run-dir", "frozen").code == 0
    assert aes("fork", runs[3], "--at", 2, "--updates", 3, "--run-dir", "sync").code == 0
    about = json.loads((runs[1] / "run.json").read_text())["about"]
    assert (about["frozen"], about["max_lag"], about["seed"], about["pairs"]) == (True, 3, 0, 2)

    journal = runs[0] / "journal.jsonl"
    whole = digests(tmp_path / "study")
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:60]))
    assert aes("resume", runs[0]).code == 0
    assert digests(tmp_path / "study") == whole


def test_a_killed_study_goes_on_to_the_same_table(aes: Aes, tmp_path: Path) -> None:
    flags = [*map(str, FLAGS), "--seeds", "5"]
    assert aes("study", "whole", *flags).code == 0
    killed = tmp_path / "killed"
    journal = killed / "arms" / "lag-2-frac-1" / "s0" / "journal.jsonl"
    assert kill_at(start("study", str(killed), *flags), journal, 4000)
    assert not Past.read(journal.parent).finished
    assert aes("study", "killed").code == 0
    assert digests(killed) == digests(tmp_path / "whole")
    assert len(digests(killed)) == 15
    tables = [content(read(folder), figures(read(folder)), ()).tables[0] for folder in (killed, tmp_path / "whole")]
    assert tables[0] == tables[1]


def test_ctrl_c_stops_a_study_cleanly_and_says_how_to_go_on(tmp_path: Path) -> None:
    flags = [*map(str, FLAGS), "--updates", "100000"]
    command = [sys.executable, "-c", "from cli.aes_app import main; main()", "study", str(tmp_path / "study"), *flags]
    journal = tmp_path / "study" / "arms" / "sync" / "s0" / "journal.jsonl"
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not (journal.exists() and journal.stat().st_size > 5000):
            os.sched_yield()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, (out, err)
    assert err.splitlines() == [f"aes: stopped by SIGINT; go on with: aes study {tmp_path / 'study'}"]
    assert "stopping: waiting for what is being played" in out
    past = Past.read(journal.parent)
    assert set(past.open) == set(past.arrived)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--lags", 4, "--fracs", "none"), "lags 4 without fracs"),
        (("--fracs", "0,1"), "fracs 0: with a lag, some measurements must be stale"),
        (("--fracs", 1.25), "fracs 1.25: more stale measurements than an update has"),
        (("--fracs", 0.1), "fracs 0.1: of 2 measurements an update that is none"),
        (("--lags", 5), "lags 5: 5 updates never reach it"),
        (("--stress",), "5 updates never reach lag 16"),
        (("--lags", "1,two"), "--lags 1,two: not whole numbers with commas between"),
        (("--estimators", "pairs,median"), "'median'"),
        (("--seeds", 0), "seeds = 0"),
        (("--max-lag", 3), "no such flag: --max-lag"),
        (("--config", "lag.toml"), "max_lag: not for a study to take"),
        (("--pairs", 1), "pairs = 1"),
    ],
)
def test_what_can_not_be_studied(
    refused: Callable[..., str], tmp_path: Path, flags: tuple[object, ...], said: str
) -> None:
    (tmp_path / "lag.toml").write_text("max_lag = 3")
    for way in ((), ("--dry-run",)):
        assert said in refused("study", "study", *FLAGS, *flags, *way)
    assert not (tmp_path / "study").exists()


def test_a_folder_that_no_system_has(refused: Callable[..., str]) -> None:
    assert "File name too long" in refused("study", "s" * 300, *FLAGS)
    assert "File name too long" in refused("report", "s" * 300)


def test_a_study_of_something_else_is_left_as_it_is(aes: Aes, refused: Callable[..., str], tmp_path: Path) -> None:
    assert aes("study", "study", *FLAGS, "--lags", "none", "--seeds", 1).code == 0
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "study").rglob("*.json*")}
    assert "its task's catalog was" in refused("study", "study", "--catalog-seed", 1)
    assert "its pairs was 2, here it is 3" in refused("study", "study", "--pairs", 3)
    assert "its slots was 16, here it is 4" in refused("study", "study", "--slots", 4)
    assert "no study.json in it" in refused("study", "study/arms", *FLAGS)
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "study").rglob("*.json*")}


def test_too_little_disk(refused: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = shutil.disk_usage(tmp_path)._replace(free=2**20)
    monkeypatch.setattr("shutil.disk_usage", lambda _: full)
    assert "the disk has 1.0 MiB free (make room" in refused("study", "study", *FLAGS, "--seeds", 100)
    assert not (tmp_path / "study").exists()
