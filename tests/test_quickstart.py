"""The quick start in small form, as a user has it: the command line, the pocket policy, the real vLLM engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from aes.journal import read
from envs.webshop.catalog.catalog import Catalog
from envs.webshop.pocket import Lessons, Recipe, ensure

pytestmark = pytest.mark.vllm

SMALL = ["--products", "200", "--updates", "3", "--pairs", "3", "--goals", "3", "--eval-goals", "20", "--slots", "4"]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache whose pocket policy was brought up in no time; the command line finds it where it looks for its own."""
    monkeypatch.setenv("AES_CACHE", str(tmp_path / "cache"))
    catalog, recipe = Catalog.generate(200), Recipe()
    hasty = replace(recipe, shown=40, lessons=replace(recipe.lessons, steps=2, batch=4))
    assert hasty.lessons != Lessons()
    made = ensure(catalog, recipe=hasty)
    made.rename(made.with_name(recipe.fingerprint(catalog)))
    return tmp_path / "cache"


def aes(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("aes")), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=os.environ)


def test_train_then_eval(cache: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    trained = aes("train", *SMALL, "--max-lag", "4", "--stale-frac", "1.0", "--no-live", "--run-dir", str(run))
    assert trained.returncode == 0, trained.stdout + trained.stderr
    assert "gain over base" in trained.stdout
    updates = [record for record in read(run) if record["event"] == "Updated"]
    assert [set(record["lags"]) for record in updates] == [{0}, {1}, {2}]
    assert (run / "adapters" / "v00003" / "adapter_model.safetensors").is_file()
    summary = json.loads((run / "summary.json").read_text())
    assert summary["finished"]
    assert [entry["version"] for entry in summary["evaluations"]] == [0, 3]

    evaluated = aes("eval", str(run), "--goals", "20")
    assert evaluated.returncode == 0, evaluated.stdout + evaluated.stderr
    assert f"{summary['evaluations'][-1]['score']:.3f}" in evaluated.stdout
