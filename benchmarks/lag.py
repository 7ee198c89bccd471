"""Asynchrony: max_lag 1 against max_lag 0 at equal evaluations, by spread of episode lengths and members in flight.

Real vLLM, the pocket policy; conversations whose turns are lognormal, so that their spread can be set. Both sides take
turns on the same open engines: one that leaves a core to the driver, and one on every core.
"""

from __future__ import annotations

import asyncio
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from aes.engine.pool import Pool
from aes.engine.vllm import VllmEngine
from benchmarks.ground import Ground, Stretch, stretch
from benchmarks.measure import Effort, Figure
from benchmarks.talk import Talk
from envs.webshop import Catalog

SLOTS = 16
PAIRS = 8
"""With sixteen in flight a whole update is out at once, with four its last fourth waits for the rest."""
TURNS = 4.0


@dataclass(frozen=True)
class Case:
    """How much the lengths differ, and how many members play at once."""

    spread: float
    in_flight: int


CASES = (Case(0.0, 16), Case(0.5, 16), Case(1.0, 16), Case(0.0, 4), Case(1.0, 4))
QUICK_CASES = (Case(0.0, 16), Case(1.0, 16))


def figures(effort: Effort) -> list[Figure]:
    """How many times as fast asynchrony is, on one engine and on two."""
    ground = Ground.of(
        updates=2 if effort.quick else 3, pairs=PAIRS, goals=4, max_tokens=10, basis="random", max_lag=0, sigma=0.1
    )
    places = (("cpu",), ("cpu:0", "cpu:1"))
    return [figure for devices in places for figure in asyncio.run(_figures(ground, devices, effort))]


async def _figures(ground: Ground, devices: Sequence[str], effort: Effort) -> list[Figure]:
    cases = QUICK_CASES if effort.quick else CASES
    rounds: dict[Case, list[tuple[Stretch, Stretch]]] = defaultdict(list)
    async with Pool(ground.engines(devices, SLOTS, VllmEngine)) as pool:
        await _both(ground, pool, cases[0])  # warms up
        for _ in range(effort.repetitions):
            for case in cases:
                rounds[case].append(await _both(ground, pool, case))
    return [_figure(" + ".join(devices), case, both) for case, both in rounds.items()]


async def _both(ground: Ground, pool: Pool, case: Case) -> tuple[Stretch, Stretch]:
    """Synchronous, then asynchronous."""
    talk = Talk.about(Catalog.generate(200), TURNS, case.spread)
    config = ground.config.model_copy(update={"in_flight": case.in_flight})
    return await stretch(talk, pool, config), await stretch(talk, pool, config.model_copy(update={"max_lag": 1}))


def _figure(where: str, case: Case, rounds: Sequence[tuple[Stretch, Stretch]]) -> Figure:
    ratios = [slow.seconds / fast.seconds for slow, fast in rounds]
    detail = dict[str, float]()
    for side, stretches in zip(("sync", "async"), zip(*rounds, strict=True), strict=True):
        detail[f"{side} s"] = statistics.median(one.seconds for one in stretches)
        detail[f"{side} idle"] = statistics.median(one.idle for one in stretches)
    name = f"sync / async seconds, spread {case.spread:g}, {case.in_flight} in flight, {where}"
    return Figure(name, "x", ratios, detail, "higher")
