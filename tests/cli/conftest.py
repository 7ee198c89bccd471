"""The command line, called in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from cli.aes_app import main


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Aes = Callable[..., Outcome]


@pytest.fixture
def aes(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Aes:
    """Run `aes` with these arguments in an empty folder, on a machine without a GPU and without a cached policy."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AES_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["aes", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit_:
            main()
        captured = capsys.readouterr()
        assert isinstance(exit_.value.code, int)
        return Outcome(exit_.value.code, captured.out, captured.err)

    return run


@pytest.fixture
def refused(aes: Aes) -> Callable[..., str]:
    """Run `aes`, expect exit code 2 with one line on standard error, and return that line."""

    def run(*arguments: object) -> str:
        outcome = aes(*arguments)
        assert outcome.code == 2, outcome
        lines = outcome.err.splitlines()
        assert len(lines) == 1, lines
        assert lines[0].startswith("aes: ")
        return lines[0].removeprefix("aes: ")

    return run
