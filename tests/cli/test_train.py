"""Whole runs from the command line, on the fake engine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Aes

SMALL = ("--engine", "fake", "--products", 60, "--pairs", 4, "--goals", 4, "--eval-goals", 20)


def test_train_and_evaluate(aes: Aes, tmp_path: Path) -> None:
    code, out, err = aes("train", *SMALL, "--updates", 3, "--eval-every", 1, "--run-dir", "run")
    assert (code, err) == (0, "")
    assert out.index("catalogue") < out.index("update 1/3") < out.index("update 3/3") < out.index("held-out goals")
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["finished"]
    scores = {entry["version"]: entry["score"] for entry in summary["evaluations"]}
    assert scores[3] > scores[0]

    for version in (0, 2, 3):
        code, out, err = aes("eval", "run", "--version", version)
        assert (code, err) == (0, "")
        assert f"{scores[version]:.3f} ±" in out
    assert "train split" in aes("eval", "run", "--split", "train", "--goals", 5).out
    assert "versions 0 to 3" in aes("eval", "run", "--version", 4).err
    assert aes("eval", "run", "--goals", 10**6).code == 2
    assert "no such device" in aes("eval", "run", "--devices", "cuda:0").err


def test_settings_of_a_file_make_the_run(aes: Aes, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(
        'engine = "fake"\nproducts = 60\nupdates = 1\npairs = 3\ngoals = 2\neval_goals = 5\nrun_dir = "run"\n'
    )
    assert aes("train", "--config", "a.toml", "--pairs", 2).code == 0
    about = json.loads((tmp_path / "run" / "run.json").read_text())["about"]
    assert (about["pairs"], about["goals"], about["catalog_seed"]) == (2, 2, 0)


def test_a_run_under_a_paper_s_prompt_records_it(aes: Aes, tmp_path: Path) -> None:
    flags = ("--prompt", "verl-agent", "--updates", 1, "--run-dir", "run")
    code, out, err = aes("train", *SMALL, *flags)
    assert (code, err) == (0, "")
    assert "verl-agent, at most 15 turns of 512 tokens; nouns by rule-2" in out
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    assert (run["about"]["prompt"], run["about"]["nouns"], run["about"]["max_tokens"]) == ("verl-agent", "rule", 512)
    assert run["task"]["prompt"].startswith("verl-agent 1")
    assert aes("eval", "run").code == 0


def test_two_engines_reach_the_same_centre_as_one(aes: Aes, tmp_path: Path) -> None:
    for name, devices in (("one", "cpu:0"), ("two", "cpu:0,cpu:1")):
        if int(devices[-1]) not in os.sched_getaffinity(0):
            pytest.skip("needs two cores")
        flags = ("--updates", 3, "--max-lag", 1, "--stale-frac", 0, "--devices", devices, "--slots", 4)
        assert aes("train", *SMALL, *flags, "--run-dir", name).code == 0
    assert len({tuple(digests(tmp_path / name)) for name in ("one", "two")}) == 1


def test_all_stale_means_all_stale(aes: Aes, tmp_path: Path) -> None:
    flags = ("--updates", 4, "--max-lag", 2, "--stale-frac", 1.0, "--run-dir", "run")
    assert aes("train", *SMALL, *flags).code == 0
    lags = [record["lags"] for record in updates(tmp_path / "run")]
    assert lags == [[min(t, 2)] * 4 for t in range(4)]


def test_a_run_whose_model_has_changed_is_not_replayed(aes: Aes, monkeypatch: pytest.MonkeyPatch) -> None:
    assert aes("train", *SMALL, "--updates", 1, "--run-dir", "run").code == 0
    monkeypatch.setattr("aes.engine.fake.FakeEngine.fingerprint", {"device": "cpu", "dim": "17"})
    outcome = aes("eval", "run")
    assert outcome.code == 2
    assert "here it is 17" in outcome.err


def test_ctrl_c_stops_cleanly_and_says_where_the_run_is(tmp_path: Path) -> None:
    flags = [*map(str, SMALL), "--updates", "100000", "--run-dir", str(tmp_path / "run")]
    command = [sys.executable, "-c", "from cli.aes_app import main; main()", "train", *flags]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        for line in process.stdout:
            if "update 2/" in line:
                break
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, (out, err)
    assert err.splitlines() == [f"aes: stopped by SIGINT; go on with: aes resume {tmp_path / 'run'}"]
    assert len(updates(tmp_path / "run")) >= 2
    events = [json.loads(line) for line in (tmp_path / "run" / "journal.jsonl").read_text().splitlines()]
    sent = {record["proposal"]["index"] for record in events if record["event"] == "Dispatched"}
    assert sent == {record["measurement"]["proposal"]["index"] for record in events if record["event"] == "Measured"}


def test_a_stopped_run_goes_on_is_replayed_and_forked(aes: Aes, tmp_path: Path) -> None:
    flags = ("--updates", 4, "--max-lag", 1, "--stale-frac", 0.5)
    assert aes("train", *SMALL, *flags, "--run-dir", "whole").code == 0
    lines = (tmp_path / "whole" / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "journal.jsonl").write_bytes(b"".join(lines[: len(lines) // 2]) + b"{")
    code, out, err = aes("resume", "run")
    assert (code, err) == (0, "")
    assert "aes resume run: from version" in out
    assert digests(tmp_path / "run") == digests(tmp_path / "whole")
    assert "it has finished, at version 4 (aes fork run goes on from there)" in aes("resume", "run").err

    code, out, err = aes("replay", "run", "--version", 3)
    assert (code, err) == (0, "")
    assert f"every digest is the run's (version 3: {digests(tmp_path / 'run')[2]})" in out
    assert "no LoRA adapter" in aes("export", "run", "--to", "adapter").err

    code, out, err = aes("fork", "run", "--at", 2, "--sigma", 0.5, "--updates", 6, "--run-dir", "child")
    assert (code, err) == (0, "")
    assert len(digests(tmp_path / "child")) == 4
    about = json.loads((tmp_path / "child" / "run.json").read_text())["about"]
    assert (about["sigma"], about["pairs"], about["products"]) == (0.5, 4, 60)
    assert "--at 5: the run has versions 0 to 4" in aes("fork", "run", "--at", 5).err
    assert "updates 4: the fork begins at version 4" in aes("fork", "run", "--run-dir", "other").err
    assert aes("replay", "child").code == 0


def updates(folder: Path) -> list[dict[str, list[int]]]:
    records = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    return [record for record in records if record["event"] == "Updated"]


def digests(folder: Path) -> list[object]:
    return [record["digest"] for record in updates(folder)]


def test_a_run_for_tensorboard(aes: Aes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert aes("train", *SMALL, "--updates", 2, "--tensorboard", "--run-dir", "run").code == 0
    (file,) = (tmp_path / "run" / "tensorboard").iterdir()
    assert b"train/fitness" in file.read_bytes()
    lines = (tmp_path / "run" / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "run" / "journal.jsonl").write_bytes(b"".join(lines[:-3]))
    assert aes("resume", "run").code == 0
    assert len(list((tmp_path / "run" / "tensorboard").iterdir())) == 2
    monkeypatch.setattr("aes.writers.tensorboard.installed", lambda: False)
    outcome = aes("train", *SMALL, "--tensorboard")
    assert (outcome.code, outcome.err) == (
        2, "aes: --tensorboard: tensorboard is not installed (pip install 'aes-runtime[tensorboard]')\n"
    )  # fmt: skip
