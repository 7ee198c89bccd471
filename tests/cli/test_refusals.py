"""What a user can get wrong: each one clear line with the cure, exit code 2, before anything expensive."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aes.journal import Journal
from tests.cli.conftest import Aes

Refused = Callable[..., str]


def test_an_unknown_flag(refused: Refused) -> None:
    assert refused("train", "--piars", 3) == "no such flag: --piars; did you mean '--pairs'?"


def test_an_unknown_command(refused: Refused) -> None:
    assert "'train'" in refused("trian")


def test_a_flag_that_is_no_number(refused: Refused) -> None:
    assert "--pairs" in refused("train", "--pairs", "many")


def test_an_unknown_key(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("max_lug = 1")
    assert "did you mean 'max_lag'?" in refused("train", "--config", "a.toml")


def test_a_task_that_is_not_there(refused: Refused) -> None:
    assert "did you mean 'webshop'?" in refused("train", "--engine", "fake", "--task", "webshap")


def test_a_prompt_that_the_pocket_policy_does_not_know(refused: Refused) -> None:
    assert "the pocket policy knows only --prompt aes" in refused("train", "--prompt", "ragen")


def test_a_prompt_that_is_not_there(refused: Refused) -> None:
    assert "'verl-agent'" in refused("train", "--engine", "fake", "--prompt", "verl")


def test_a_missing_data_folder(refused: Refused) -> None:
    assert "nowhere" in refused("train", "--engine", "fake", "--data", "nowhere")


def test_a_missing_data_file(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    assert "items_shuffle.json" in refused("train", "--engine", "fake", "--data", "data")


def test_broken_json(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "items_shuffle.json").write_text("[\n{,")
    (tmp_path / "data" / "items_ins_v2.json").write_text("{}")
    assert "items_shuffle.json, line 2, column 2" in refused("train", "--engine", "fake", "--data", "data")


def test_a_model_folder_without_weights(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    assert "no weights in it" in refused("train", "--model", "./model", "--products", 50)


def test_a_model_folder_that_is_not_there(refused: Refused) -> None:
    assert "no such folder" in refused("train", "--model", "./model", "--products", 50)


def test_staleness_without_a_lag(refused: Refused) -> None:
    assert "add --max-lag" in refused("train", "--stale-frac", 1.0)


def test_a_rank_without_a_kernel(refused: Refused) -> None:
    assert "512" in refused("train", "--rank", 513)


def test_more_members_than_slots(refused: Refused) -> None:
    line = refused("train", "--engine", "fake", "--slots", 4, "--devices", "cpu:0", "--in-flight", 5)
    assert line.startswith("--in-flight 5: the engines have 4 slots")


def test_an_occupied_run_folder(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "journal.jsonl").write_text("")
    assert "holds a run already" in refused("train", "--engine", "fake", "--run-dir", "run")
    assert [entry.name for entry in (tmp_path / "run").iterdir()] == ["journal.jsonl"]


def test_a_run_folder_that_cannot_be(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "not a folder" in refused("train", "--engine", "fake", "--run-dir", "file")
    assert "cannot be written to" in refused("train", "--engine", "fake", "--products", 50, "--run-dir", "file/run")


def test_no_vllm(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert "pip install 'aes-runtime[cpu]'" in refused("train")


@pytest.mark.parametrize(
    ("devices", "said"),
    [("gpu", "not a device"), ("cuda:0", "no such device"), ("cpu:0,cpu:0", "2 times"), ("cpu,cpu:0", "all cores")],
)
def test_devices_that_are_none(refused: Refused, devices: str, said: str) -> None:
    assert said in refused("train", "--devices", devices)


def test_more_held_out_goals_than_there_are(refused: Refused) -> None:
    assert "lower --eval-goals" in refused("train", "--engine", "fake", "--products", 20, "--eval-goals", 10_000)


def test_evaluating_what_is_no_run(refused: Refused, tmp_path: Path) -> None:
    for command in (("eval",), ("resume",), ("replay",), ("export", "--to", "x"), ("fork",)):
        assert "no journal.jsonl in it" in refused(*command, tmp_path)
    about: dict[str, Any] = {"config": {}, "about": None, "task": {}, "engine": {}}
    asyncio.run(begin(tmp_path, about))
    assert "not made by aes train" in refused("eval", tmp_path)


async def begin(folder: Path, about: dict[str, Any]) -> None:
    Journal.create(folder, lambda: 0.0, about).close()


def test_nothing_is_left_behind(aes: Aes, tmp_path: Path) -> None:
    aes("train", "--rank", 600)
    assert list(tmp_path.iterdir()) == []
