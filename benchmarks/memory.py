"""Long runs stay flat: resident memory over 2,000 updates of the fake engine and 200 of vLLM, driver and engine.

Two caches of the engine fill up for hundreds of updates and would look like leaks: vLLM's KV cache, which is touched
page by page, and oneDNN's cache of compiled products, one for each of the last 1,024 batch sizes and layers. Here both
are small enough to be full in the first half, and the second half counts.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from aes import Config, Run
from aes.engine.fake import FakeEngine
from aes.engine.model import BaseModel
from aes.engine.options import VllmOptions
from aes.engine.pool import Pool
from aes.events import Updated
from aes.protocols import Engine
from benchmarks.engines import TunedEngine
from benchmarks.measure import Effort, Figure
from cli.settings import resolve
from envs.webshop import Catalog, WebShop, pocket

SAMPLES = 40
SMALL = {"pairs": 4, "goals": 4, "max_lag": 2, "eval_goals": 20}
GOAL = 0.5
BLOCKS = 1024
PRODUCTS = "16"


class SmallCacheEngine(TunedEngine):
    """An engine whose KV cache is of so many blocks."""

    def _arguments(self) -> dict[str, Any]:
        return super()._arguments() | {"num_gpu_blocks_override": BLOCKS}


def figures(effort: Effort) -> list[Figure]:
    """Growth per update over the second half, by a straight line through the samples; run once."""
    share = 5 if effort.quick else 1
    return [*asyncio.run(_fake(2000 // share)), *asyncio.run(_vllm(200 // share))]


async def _fake(updates: int) -> list[Figure]:
    config = Config(
        updates=updates, pairs=4, goals=4, max_lag=2, eval_every=100, eval_goals=20, max_tokens=1024, lr=0.5
    )
    return await _grown("fake engine", WebShop(Catalog.generate(200)), FakeEngine(), config)


async def _vllm(updates: int) -> list[Figure]:
    settings, _ = resolve(
        {"updates": updates, "pairs": 4, "goals": 4, "eval_every": 20, "eval_goals": 20, "max_lag": 2}
    )
    catalog = Catalog.generate()
    model = BaseModel.inspect(str(pocket.ensure(catalog)))
    os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"] = PRODUCTS  # engine processes inherit it
    async with Pool([SmallCacheEngine(model, settings.lora, VllmOptions(slots=8, cache_gib=1))]) as pool:
        return await _grown("vLLM", WebShop(catalog), pool, settings.config)


async def _grown(name: str, task: WebShop, engine: Engine, config: Config) -> list[Figure]:
    every = config.updates // SAMPLES
    versions, samples = list[int](), list[tuple[float, float]]()
    with tempfile.TemporaryDirectory() as folder:
        async with Run(task, engine, config, Path(folder) / "run") as run:
            async for event in run:
                if isinstance(event, Updated) and event.update.version % every == 0:
                    versions.append(event.update.version)
                    samples.append(await asyncio.to_thread(_resident_mib))
    return [
        _figure(f"memory of the {who}, {config.updates} updates, {name}", versions, values)
        for who, values in zip(("driver", "engine"), zip(*samples, strict=True), strict=True)
        if max(values) > 0
    ]


def _figure(name: str, versions: Sequence[int], values: Sequence[float]) -> Figure:
    half = len(values) // 2
    slope = float(np.polyfit(versions[half:], values[half:], 1)[0])
    detail = {"first MiB": values[0], "half-way MiB": values[half], "last MiB": values[-1]}
    return Figure(name, "MiB/update", [slope], detail, goal=GOAL)


def _resident_mib() -> tuple[float, float]:
    """Resident memory of this process and of all processes below it."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid=,rss=,comm="], capture_output=True, text=True, check=True).stdout
    rows = [(int(pid), int(parent), int(rss), comm) for pid, parent, rss, comm in map(_fields, listed.splitlines())]
    below = {os.getpid()}
    while found := {pid for pid, parent, _, comm in rows if parent in below and comm != "ps"} - below:
        below |= found
    mine = sum(rss for pid, _, rss, _ in rows if pid == os.getpid())
    return mine / 1024, sum(rss for pid, _, rss, _ in rows if pid in below) / 1024 - mine / 1024


def _fields(line: str) -> tuple[str, str, str, str]:
    pid, parent, rss, comm = line.split(maxsplit=3)
    return pid, parent, rss, comm
