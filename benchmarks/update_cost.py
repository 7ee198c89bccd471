"""The cost of an update: 32 pairs at LoRA sizes from 10^5 to 10^8, against drawing and adding as many normals.

That is the floor, which any implementation has at least: 32 vectors of normals, each added to one vector. At the
largest size eight of them are drawn and counted four times. Memory does not depend on the number of pairs.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from pathlib import Path

import torch

from aes.centre import Centre
from aes.types import Term, Update
from benchmarks.measure import Effort, Figure

PAIRS = 32
SIZES = (10**5, 10**6, 10**7)
LONG_ENOUGH = 10**6
"""Parameters of an update that can be measured at once; smaller ones are applied several times."""
LARGEST, LARGEST_REPETITIONS, LARGEST_DRAWN = 10**8, 3, 8


def figures(effort: Effort) -> list[Figure]:
    """Per size, milliseconds of an update over the floor's; a quick look leaves out the largest."""
    found = [_figure(size, effort.repetitions, PAIRS) for size in SIZES]
    if not effort.quick:
        found.append(_figure(LARGEST, min(effort.repetitions, LARGEST_REPETITIONS), LARGEST_DRAWN))
    return found


def _figure(size: int, repetitions: int, drawn: int) -> Figure:
    centre = Centre(torch.zeros(size))
    updates, floors = [], []
    often = max(1, LONG_ENOUGH // size)
    _floor(min(size, LONG_ENOUGH), 0, drawn)  # warms up
    for _ in range(repetitions):
        updates.append(_milliseconds(_update, centre, often) / often)
        floors.append(sum(_milliseconds(_floor, size, seed, drawn) for seed in range(often)) / often * PAIRS / drawn)
    detail = {"update ms": sum(updates) / len(updates), "floor ms": sum(floors) / len(floors)}
    detail |= {"vector MiB": size * 4 / 2**20, "added MiB": _peak_mib(size, drawn)}
    ratios = [update / floor for update, floor in zip(updates, floors, strict=True)]
    return Figure(f"update of {PAIRS} pairs / floor, {size:,} parameters", "x", ratios, detail)


def _update(centre: Centre, often: int) -> None:
    for version in range(centre.newest, centre.newest + often):
        centre.advance(Update(version, tuple(Term(version * PAIRS + pair, 0.01) for pair in range(PAIRS))))


def _floor(size: int, seed: int, drawn: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    total = torch.zeros(size)
    for _ in range(drawn):
        total.add_(torch.randn(size, generator=generator), alpha=0.01)


def _peak_mib(size: int, pairs: int) -> float:
    """Memory that an update adds at its height, the new version included, in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as alone:
        return alone.apply(_added_mib, (size, pairs))


def _added_mib(size: int, pairs: int) -> float:
    centre = Centre(torch.zeros(size))
    Path("/proc/self/clear_refs").write_text("5")  # begin the record of the most memory anew (Linux)
    before = _most_mib()
    centre.advance(Update(0, tuple(Term(pair, 0.01) for pair in range(pairs))))
    return _most_mib() - before


def _most_mib() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def _milliseconds(work: Callable[..., object], *arguments: object) -> float:
    began = time.perf_counter()
    work(*arguments)
    return (time.perf_counter() - began) * 1e3
