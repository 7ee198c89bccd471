from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from cli.doctor import hardware
from cli.doctor.software import Torch

GIB = 2**30


def test_a_machine_without_a_gpu_is_fine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "gpus", lambda: ())
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    finding = hardware.graphics(Torch(None, 0))
    assert (finding.grade, finding.found) == ("ok", "none visible: engines run on the CPU")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert "(CUDA_VISIBLE_DEVICES)" in hardware.graphics(Torch(None, 0)).found


@pytest.mark.parametrize(
    ("torch", "answers", "grade", "found"),
    [
        (Torch("13.0", 2), True, "ok", "NVIDIA H, 10 MiB free of 80 MiB, driver 580"),
        (Torch(None, 0), True, "wrong", "but this torch is for CPUs"),
        (Torch("13.0", 2), False, "wrong", "cuda:0, cuda:1, but nvidia-smi does not answer"),
        (Torch("13.0", 1), True, "wrong", "but torch can use 1 of 2"),
        (None, True, "ok", "NVIDIA H"),
    ],
)
def test_gpus(
    torch: Torch | None, answers: bool, grade: str, found: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(hardware, "gpus", lambda: ("cuda:0", "cuda:1"))
    smi = tmp_path / "nvidia-smi"
    smi.write_text(f"#!/bin/sh\necho 'NVIDIA H, 10 MiB, 80 MiB, 580'\nexit {0 if answers else 9}\n")
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    finding = hardware.graphics(torch)
    assert finding.grade == grade
    assert found in finding.found
    assert bool(finding.cure) == (grade == "wrong")


def test_a_container_that_gets_less_time_than_it_sees_cores(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(hardware, "CGROUP", tmp_path)
    monkeypatch.setattr(hardware, "cores", lambda: (3, 5, 7, 9))
    monkeypatch.setattr(os, "cpu_count", lambda: 16)
    assert hardware.processor().found == "4 of 16 cores (affinity)"
    for limit, grade in (("max 100000", "ok"), ("400000 100000", "ok"), ("garbage", "ok"), ("9 0", "ok")):
        (tmp_path / "cpu.max").write_text(limit)
        assert hardware.processor().grade == grade
    (tmp_path / "cpu.max").write_text("250000 100000\n")
    finding = hardware.processor()
    assert (finding.grade, finding.found) == ("warning", "4 of 16 cores (affinity), but time for 2.5 only")
    assert finding.cure.endswith("--devices cpu:3,cpu:5")


@pytest.mark.parametrize(("left", "grade"), [(2, "wrong"), (4, "warning"), (6, "ok")])
def test_memory_under_a_limit(left: int, grade: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(hardware, "CGROUP", tmp_path)
    (tmp_path / "memory.max").write_text(str(9 * GIB))
    (tmp_path / "memory.current").write_text(str((9 - left) * GIB))
    real = hardware._read
    monkeypatch.setattr(
        hardware, "_read", lambda path: "MemAvailable: 99999999 kB" if path.name == "meminfo" else real(path)
    )
    finding = hardware.memory(cache_gib=2)
    assert finding.grade == grade
    assert f"{left}.0 GiB free of" in finding.found
    assert bool(finding.cure) == (grade != "ok")


def test_shared_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(hardware, "SHARED", tmp_path / "shm")
    assert hardware.shared_memory().grade == "warning"
    sizes: list[Any] = [shutil._ntuple_diskusage(64, 0, mib * 2**20) for mib in (8, 40, 64)]
    monkeypatch.setattr(shutil, "disk_usage", lambda path: sizes.pop(0))
    assert [hardware.shared_memory().grade for _ in range(3)] == ["wrong", "warning", "ok"]
