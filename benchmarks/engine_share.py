"""Engine share: tokens a second while training, over those of the same engines replaying the very same requests.

The replay is the ceiling: what the engines do with nothing else to do. Real vLLM, the pocket policy, WebShop; one
engine that leaves a core to the driver, and one on every core. A stretch and its replay take turns, and both begin with
an empty prefix cache. Beside the share: where the processors' time goes while training.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aes.engine.pool import Pool
from benchmarks.clocked import ClockedTask
from benchmarks.ground import Ground, Stretch, stretch
from benchmarks.measure import Effort, Figure
from benchmarks.tape import TapingEngine, replay

GOAL = 0.95
SLOTS = 16


@dataclass(frozen=True)
class Round:
    """A stretch of training and the replay of its requests; `replay_cpu` are the driver's processor seconds in it."""

    trained: Stretch
    replayed_tokens: int
    replay_seconds: float
    replay_cpu: float

    @property
    def share(self) -> float:
        """Tokens a second while training, over those of the replay."""
        return self.trained.tokens / self.trained.seconds / (self.replayed_tokens / self.replay_seconds)

    @property
    def shop_cpu(self) -> float:
        """Seconds that WebShop had of the driver's core."""
        return self.trained.clocks[0]

    @property
    def engine_cpu(self) -> float:
        """Processor seconds of the engines."""
        return sum(self.trained.clocks[1:])


def figures(effort: Effort) -> list[Figure]:
    """The share on one engine and on two, and WebShop's part of a run."""
    return on(("cpu",), effort) + on(("cpu:0", "cpu:1"), effort)


def on(devices: Sequence[str], effort: Effort) -> list[Figure]:
    """The same on an engine for each of some devices."""
    ground = Ground.of(
        updates=2 if effort.quick else 3, pairs=16, goals=8 if effort.quick else 16, devices=tuple(devices)
    )
    return _figures(" + ".join(devices), asyncio.run(_rounds(ground, devices, effort)))


def _figures(where: str, rounds: Sequence[Round]) -> list[Figure]:
    count = len(rounds)
    detail = {
        "training tok/s": sum(r.trained.tokens / r.trained.seconds for r in rounds) / count,
        "replay tok/s": sum(r.replayed_tokens / r.replay_seconds for r in rounds) / count,
        "training ep/s": sum(r.trained.episodes / r.trained.seconds for r in rounds) / count,
        "replayed / trained tokens": sum(r.replayed_tokens / r.trained.tokens for r in rounds) / count,
        "idle share of players": sum(r.trained.idle for r in rounds) / count,
    }
    turns = sum(r.trained.turns for r in rounds)
    costs = {
        "driver us/turn": sum(r.trained.driver_cpu for r in rounds) / turns * 1e6,
        "of that in the replay too": sum(r.replay_cpu for r in rounds) / turns * 1e6,
        "WebShop us/turn": sum(r.shop_cpu for r in rounds) / turns * 1e6,
        "engine us/turn": sum(r.engine_cpu for r in rounds) / turns * 1e6,
    }
    of_driver = [r.shop_cpu / r.trained.driver_cpu for r in rounds]
    of_all = [r.shop_cpu / (r.trained.driver_cpu + r.engine_cpu) for r in rounds]
    driver = [r.trained.driver_cpu / (r.trained.driver_cpu + r.engine_cpu) for r in rounds]
    return [
        Figure(f"engine share on {where}", "x", [r.share for r in rounds], detail, "higher", GOAL),
        Figure(f"driver's share of a run's CPU on {where}", "x", driver, costs),
        Figure(f"WebShop's share of the driver's CPU on {where}", "x", of_driver),
        Figure(f"WebShop's share of a run's CPU on {where}", "x", of_all),
    ]


class BusyEngine(TapingEngine):
    """An engine that tells its processor time."""

    def _arguments(self) -> dict[str, Any]:
        return super()._arguments() | {"worker_extension_cls": "benchmarks.adapters.SwitchedWorker"}

    async def cpu_seconds(self) -> float:
        """Processor time that its process has had."""
        seconds: float = await self._open().call("bench_seconds")
        return seconds


async def _rounds(ground: Ground, devices: Sequence[str], effort: Effort) -> list[Round]:
    engines = ground.engines(devices, SLOTS, BusyEngine)
    async with Pool(engines) as pool:
        await stretch(ground.task, pool, ground.config.model_copy(update={"updates": 1}))  # warms up
        return [await _round(ground, pool, engines) for _ in range(effort.repetitions)]


async def _round(ground: Ground, pool: Pool, engines: Sequence[BusyEngine]) -> Round:
    task = ClockedTask(ground.task)

    async def clocks() -> tuple[float, ...]:
        return (task.seconds, *[await engine.cpu_seconds() for engine in engines])

    await _forget(engines)
    trained = await stretch(task, pool, ground.config, clocks)
    sittings = [sitting for engine in engines for sitting in engine.sittings if sitting.member.sign]  # no calibration
    await _forget(engines)
    began, began_cpu = time.perf_counter(), time.process_time()
    replayed = await replay(engines, sorted(sittings, key=lambda sitting: sitting.number))
    return Round(trained, replayed, time.perf_counter() - began, time.process_time() - began_cpu)


async def _forget(engines: Sequence[BusyEngine]) -> None:
    for engine in engines:
        engine.sittings = []
        await engine.forget_prompts()
