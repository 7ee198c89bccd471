"""One thing the doctor has looked at: what it found, how that is, and what to do about it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Literal

Grade = Literal["ok", "warning", "wrong"]

GIB = 2**30


@dataclass(frozen=True)
class Finding:
    """What was found about `what`; a cure where it is not ok."""

    what: str
    grade: Grade
    found: str
    cure: str = ""


def in_python(code: str, seconds: float) -> tuple[bool, str]:
    """Run a program in a Python of its own: whether it went well, and the last line it printed or complained in."""
    try:
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return False, f"no answer after {seconds:.0f} s"
    said = ran.stdout if ran.returncode == 0 else ran.stderr
    lines = [line for line in said.splitlines() if line.strip()]
    return ran.returncode == 0, lines[-1].strip() if lines else f"it ended with exit code {ran.returncode}"


def gib(size: float) -> str:
    """A size in bytes, in words."""
    return f"{size / GIB:.1f} GiB" if size >= GIB else f"{size / 2**20:.0f} MiB"
