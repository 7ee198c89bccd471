"""GPUs, processor cores and memory, as this process may use them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from cli.doctor.finding import GIB, Finding, gib
from cli.doctor.software import Torch
from cli.machine import cores, gpus

CGROUP = Path("/sys/fs/cgroup")
SHARED = Path("/dev/shm")
_ENGINE = 3 * GIB
"""Memory that a driver and a pocket policy's engine take on a CPU without the KV cache, about."""

_SHARED_NEEDED, _SHARED_TIGHT = 16 * 2**20, 48 * 2**20
_SMI_S = 20.0


def graphics(torch: Torch | None) -> Finding:
    """GPUs, by what the system, its driver and torch say."""
    here = gpus()
    if not here:
        hidden = os.environ.get("CUDA_VISIBLE_DEVICES") is not None
        return Finding(
            "gpu", "ok", "none visible" + (" (CUDA_VISIBLE_DEVICES)" if hidden else "") + ": engines run on the CPU"
        )
    names = _from_driver()
    found = "; ".join(names) or ", ".join(here)
    if torch is not None and torch.cuda is None:
        return Finding("gpu", "wrong", f"{found}, but this torch is for CPUs", "pip install 'aes-runtime[gpu]'")
    if not names:
        return Finding(
            "gpu", "wrong", f"{found}, but nvidia-smi does not answer", "install NVIDIA's driver, or mend it"
        )
    if torch is not None and torch.gpus < len(here):
        cure = "see what `python -c 'import torch; torch.cuda.init()'` says"
        return Finding("gpu", "wrong", f"{found}, but torch can use {torch.gpus} of {len(here)}", cure)
    return Finding("gpu", "ok", found)


def processor() -> Finding:
    """Cores, and how many of them a container may keep busy."""
    mine, all_ = len(cores()), os.cpu_count() or 1
    found = f"{mine} cores" if mine == all_ else f"{mine} of {all_} cores (affinity)"
    quota = _quota()
    if quota is not None and quota < mine:
        names = ",".join(f"cpu:{core}" for core in cores()[: max(int(quota), 1)])
        cure = f"raise the container's CPU limit, or name as many cores: --devices {names}"
        return Finding("cores", "warning", f"{found}, but time for {quota:g} only", cure)
    return Finding("cores", "ok", found)


def memory(cache_gib: int) -> Finding:
    """Memory that is free, under the container's limit where there is one, against what an engine on the CPU takes."""
    free, whole = _free(), os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    found = f"{gib(free)} free of {gib(whole)}"
    need = _ENGINE + cache_gib * GIB
    if free < _ENGINE + GIB:
        cure = "close other programs, or raise the container's limit"
        return Finding("memory", "wrong", f"{found}; an engine takes {gib(_ENGINE + GIB)} at least", cure)
    if free < need:
        return Finding("memory", "warning", f"{found}; the default takes {gib(need)}", "--cache-gib 1")
    return Finding("memory", "ok", found)


def shared_memory() -> Finding:
    """/dev/shm, which engine processes talk through."""
    try:
        free = shutil.disk_usage(SHARED).free
    except OSError:
        return Finding("/dev/shm", "warning", "not there", "mount a tmpfs at /dev/shm")
    cure = "give the container more: docker run --shm-size 1g"
    if free < _SHARED_TIGHT:
        return Finding("/dev/shm", "wrong" if free < _SHARED_NEEDED else "warning", f"{gib(free)} free", cure)
    return Finding("/dev/shm", "ok", f"{gib(free)} free")


def _from_driver() -> list[str]:
    """Each GPU in the driver's words; none where it does not answer."""
    query = ["nvidia-smi", "--query-gpu=name,memory.free,memory.total,driver_version", "--format=csv,noheader"]
    try:
        ran = subprocess.run(query, capture_output=True, text=True, timeout=_SMI_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    rows = [[part.strip() for part in line.split(",")] for line in ran.stdout.splitlines() if line.count(",") == 3]
    return [f"{name}, {free} free of {total}, driver {driver}" for name, free, total, driver in rows]


def _quota() -> float | None:
    """Cores' worth of time that the container gets; None for no limit."""
    quota, _, period = _read(CGROUP / "cpu.max").partition(" ")
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() and int(period) else None


def _free() -> int:
    """Bytes that may be taken without others having to give."""
    lines = _read(Path("/proc/meminfo")).splitlines()
    told = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    free = told[0] if told else os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit, used = _read(CGROUP / "memory.max"), _read(CGROUP / "memory.current")
    return min(free, int(limit) - int(used)) if limit.isdigit() and used.isdigit() else free


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except (OSError, ValueError):
        return ""
