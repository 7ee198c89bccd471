"""Asynchrony: episodes a second of max_lag 1 against max_lag 0 at equal numbers of evaluations, on one and two engines.

Real vLLM, the pocket policy, WebShop; both sides alternate on the same open engines.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from aes import Config, Run
from aes.engine.model import BaseModel
from aes.engine.options import VllmOptions
from aes.engine.pool import Pool
from aes.engine.vllm import VllmEngine
from benchmarks.measure import Figure
from cli.settings import resolve
from envs.webshop import pocket
from envs.webshop.agent.task import WebShop
from envs.webshop.catalog.catalog import Catalog

UPDATES = 4


def figures(repetitions: int) -> list[Figure]:
    """The ratio on one engine with all cores, and on two engines with a core each."""
    return [asyncio.run(_figure(devices, repetitions)) for devices in (("cpu",), ("cpu:0", "cpu:1"))]


async def _figure(devices: Sequence[str], repetitions: int) -> Figure:
    settings, _ = resolve({"updates": UPDATES, "pairs": 8, "goals": 8, "eval_goals": 0})
    catalog = Catalog.generate()
    task = WebShop(catalog)
    model = BaseModel.inspect(str(pocket.ensure(catalog)))
    slots = 16 // len(devices)
    engines = [VllmEngine(model, settings.lora, VllmOptions(device, slots)) for device in devices]
    rates: dict[int, list[float]] = {0: [], 1: []}
    async with Pool(engines) as pool:
        for repetition in range(repetitions + 1):
            for max_lag in (0, 1):
                rate = await _rate(task, pool, settings.config.model_copy(update={"max_lag": max_lag}))
                if repetition:  # the first warms up
                    rates[max_lag].append(rate)
    ratios = [fast / slow for slow, fast in zip(rates[0], rates[1], strict=True)]
    detail = {f"lag {lag} ep/s": sum(values) / len(values) for lag, values in rates.items()}
    return Figure(f"async / sync on {' + '.join(devices)}", "x", ratios, detail)


async def _rate(task: WebShop, pool: Pool, config: Config) -> float:
    """Episodes a second from the first dispatch to the last update."""
    with tempfile.TemporaryDirectory() as folder:
        async with Run(task, pool, config, Path(folder) / "run") as run:
            began = time.perf_counter()
            await run.wait()
            return run.metrics.episodes / (time.perf_counter() - began)
