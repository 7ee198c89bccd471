"""What benchmarks of whole runs stand on: the pocket policy, WebShop, and engines for them."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from aes import Config, Run
from aes.config import Lora
from aes.engine.model import BaseModel
from aes.engine.options import VllmOptions
from aes.engine.pool import Pool
from aes.engine.vllm import VllmEngine
from aes.events import Updated
from aes.protocols import Task
from cli.settings import resolve
from envs.webshop import Catalog, WebShop, pocket

CACHE_GIB = 1

E = TypeVar("E", bound=VllmEngine)
Clocks = Callable[[], Awaitable[tuple[float, ...]]]


@dataclass(frozen=True)
class Ground:
    """The pocket policy and its task, with the settings that `aes train` gives them."""

    task: WebShop
    model: BaseModel
    config: Config
    lora: Lora

    @classmethod
    def of(cls, **given: Any) -> Ground:
        """With some settings changed; nothing is evaluated."""
        settings, complaints = resolve({"model": "pocket", "eval_goals": 0, "eval_every": 0} | given)
        assert not complaints, complaints
        catalog = Catalog.generate()
        model = BaseModel.inspect(str(pocket.ensure(catalog)))
        return cls(WebShop(catalog), model, settings.config, settings.lora)

    def engines(self, devices: Sequence[str], slots: int, kind: type[E]) -> list[E]:
        """An engine on each device, not open yet; they share the slots."""
        options = [VllmOptions(device, slots // len(devices), cache_gib=CACHE_GIB) for device in devices]
        return [kind(self.model, self.lora, option) for option in options]


@dataclass(frozen=True)
class Stretch:
    """What a run took and did, from its first dispatch to its last update.

    Attributes:
        driver_cpu: processor seconds of the driver.
        idle: share of the players' time without a member to play.
        clocks: what other clocks have counted meanwhile.
    """

    seconds: float
    driver_cpu: float
    episodes: int
    turns: int
    tokens: int
    idle: float
    clocks: tuple[float, ...]


async def _none() -> tuple[float, ...]:
    return ()


async def stretch(task: Task, pool: Pool, config: Config, clocks: Clocks = _none) -> Stretch:
    """Run to the end on open engines."""
    with tempfile.TemporaryDirectory() as folder:
        async with Run(task, pool, config, Path(folder) / "run") as run:
            began, began_cpu = time.perf_counter(), time.process_time()
            before = await clocks()
            idle = 0.0
            async for event in run:
                if isinstance(event, Updated):
                    idle += event.idle * event.seconds
            seconds, cpu = time.perf_counter() - began, time.process_time() - began_cpu
            counted = tuple(after - so_far for after, so_far in zip(await clocks(), before, strict=True))
            metrics = run.metrics
            return Stretch(seconds, cpu, metrics.episodes, metrics.turns, metrics.tokens, idle / seconds, counted)
