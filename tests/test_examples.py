"""Every example runs as printed in it."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

NEEDS = {"wandb_callback": "wandb", "trackio_callback": "trackio"}
"""Packages that aes does not bring."""

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(example: Path, tmp_path: Path) -> None:
    if (needed := NEEDS.get(example.stem)) and importlib.util.find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed")
    env = os.environ | {"TRACKIO_DIR": str(tmp_path), "WANDB_DIR": str(tmp_path), "WANDB_MODE": "offline"}
    command = [sys.executable, str(example)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=env)
    assert ran.returncode == 0, ran.stderr
    assert "version 0" in ran.stdout
    scores = [float(score) for score in re.findall(r"^version \d+: score ([\d.]+)", ran.stdout, re.MULTILINE)]
    assert not scores or scores[-1] > scores[0]


WANDB = """
import json

class Run:
    def define_metric(self, name, step_metric): print("metric", name, step_metric)
    def log(self, row): print("log", json.dumps(row, allow_nan=False))
    def finish(self): print("finished")

def init(project, config):
    print("project", project, json.dumps(config))
    return Run()
"""


def test_the_wandb_listener_calls_what_wandb_has(tmp_path: Path) -> None:
    """With a stand-in for wandb: its names and arguments, no more."""
    (tmp_path / "wandb.py").write_text(WANDB)
    example = next(example for example in EXAMPLES if example.stem == "wandb_callback")
    env = os.environ | {"PYTHONPATH": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, str(example)], capture_output=True, text=True, check=True, timeout=120, env=env
    )
    lines = ran.stdout.splitlines()
    rows = [json.loads(line.removeprefix("log ")) for line in lines if line.startswith("log ")]
    assert lines[1] == "metric * version"
    assert sorted(row["version"] for row in rows if "eval/score" in row) == [0, 5, 10]
    assert [row["version"] for row in rows if "train/fitness" in row] == list(range(1, 11))
    assert "finished" in lines


def test_the_trackio_listener_leaves_its_rows(tmp_path: Path) -> None:
    pytest.importorskip("trackio")
    example = next(example for example in EXAMPLES if example.stem == "trackio_callback")
    env = os.environ | {"TRACKIO_DIR": str(tmp_path)}
    subprocess.run([sys.executable, str(example)], capture_output=True, text=True, check=True, timeout=120, env=env)
    with contextlib.closing(sqlite3.connect(tmp_path / "pick.db")) as data:
        rows = [(step, json.loads(metrics)) for step, metrics in data.execute("SELECT step, metrics FROM metrics")]
    assert sorted(step for step, row in rows if "eval/score" in row) == [0, 5, 10]
    assert sorted(step for step, row in rows if "train/fitness" in row) == list(range(1, 11))
