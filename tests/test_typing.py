"""A user's code against the public names, as pyright reads it; mypy reads it with everything else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def pyright(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pyright", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=120)


def test_user_code_is_typed() -> None:
    try:
        there = pyright("--version").returncode == 0
    except subprocess.TimeoutExpired:
        there = False
    if not there:
        pytest.skip("pyright cannot be had: its package fetches the program from npm's registry")
    checked = pyright("--pythonpath", sys.executable)
    assert checked.returncode == 0, checked.stdout
