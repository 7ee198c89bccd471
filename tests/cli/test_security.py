"""TOML files and run folders of strangers: nothing in them runs, and each broken one is one line."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.commands.shopping import serve
from tests.aes.test_security import DEEP, HEAD, STARTED, forge

Refused = Callable[..., str]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"pairs = {DEEP}", "not TOML"),
        ("seed = " + "9" * 5000, "not TOML"),
        ("seed = " + "9" * 40, "less than 4294967296"),
        ("pairs = 1e999", "finite"),
        ('task = "__import__(\\"os\\")"', "no such task"),
        ('devices = ["cpu; touch hacked"]', "not a device"),
        ('model = "\\u0000"', "no file can have this name"),
        (f'model = "{"x" * 300}"', "no file can have this name"),
        (f'data = "{"x/" * 4000}"', "no file can have this name"),
        ('run_dir = "a\\u0000b"', "no file can have this name"),
        ('prompt = "../../x"', "prompt"),
        ("[pairs]\nx = 1", "valid integer"),
        ("__class__ = 1", "unknown key"),
    ],
)
def test_a_strangers_toml_is_one_line(text: str, said: str, refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(text)
    line = refused("train", "--config", "a.toml", "--engine", "fake")
    assert said in line
    assert len(line) < 600
    assert [path.name for path in tmp_path.iterdir()] == ["a.toml"]


@pytest.mark.parametrize("command", ["resume", "replay", "eval", "fork", "export"])
def test_a_strangers_run_is_one_line(command: str, refused: Refused, tmp_path: Path) -> None:
    to = ("--to", "out") if command == "export" else ()
    deep = f'{{"event":"Started","digest":{DEEP},"at":0}}'
    for name, records, said in (
        ("deep", (HEAD, deep), "journal.jsonl:2: not a record of aes"),
        ("foreign", (HEAD, STARTED), "it was not made by aes train"),
        ("unknown", (HEAD | {"about": {"os": "rm"}}, STARTED), "unknown setting 'os'"),
        ("bad", (HEAD | {"about": {"devices": ["cpu; touch x"]}}, STARTED), "not a device"),
    ):
        assert said in refused(command, forge(tmp_path / name, *records).name, *to)
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "journal.jsonl").symlink_to(tmp_path / "foreign" / "journal.jsonl")
    assert "journal.jsonl is a link" in refused(command, "linked", *to)
    assert not (tmp_path / "out").exists()


def test_what_listens_listens_to_this_machine_alone() -> None:
    assert inspect.signature(serve).parameters["host"].default == "127.0.0.1"
