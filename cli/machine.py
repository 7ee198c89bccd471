"""What this machine has, found out without initialising CUDA: engine processes must be the first to touch a GPU."""

from __future__ import annotations

import os
import re
from pathlib import Path


def gpus() -> tuple[str, ...]:
    """The GPUs an engine may use, as device names: those of CUDA_VISIBLE_DEVICES where it is set, else all."""
    found = sorted(int(node.name.removeprefix("nvidia")) for node in Path("/dev").glob("nvidia[0-9]*"))
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        named = {int(number) for number in re.findall(r"\d+", visible)}
        found = [number for number in found if number in named]
    return tuple(f"cuda:{number}" for number in found)


def cores() -> tuple[int, ...]:
    """The processor cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return tuple(sorted(os.sched_getaffinity(0)))
    return tuple(range(os.cpu_count() or 1))  # macOS does not tell
