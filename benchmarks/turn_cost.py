"""The runtime's own cost: microseconds of driver CPU a turn with 16, 256 and 4,096 episodes at once.

Every side plays the same turns on the fake engine; only the members in flight differ, so a runtime whose cost grows
with the number of episodes shows. The fake engine's own work is in the figure; what the same turns cost without a
runtime around them stands beside it.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from typing import Any

from aes import ChatTask, Config, Run
from aes.engine.fake import FakeEngine
from aes.policy import MemberPolicy
from aes.types import Member, Sampling
from benchmarks.measure import Effort, Figure
from cli import collector

TURNS = 4
GOALS = 16
IN_FLIGHT = (1, 16, 256)
"""Members at once; each plays its goals at once, so these are 16, 256 and 4,096 episodes."""
CONFIG = Config(updates=2, pairs=128, goals=GOALS, eval_goals=0, eval_every=0)
BARE = 1024
GOAL_US, FLAT = 150.0, 1.25


class Count:
    """Four turns of nothing."""

    def __init__(self, goal: int) -> None:
        self._left = TURNS

    def reset(self, *, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        return "go", {}

    def step(self, text: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self._left -= 1
        return "on", float(text == "yes") / TURNS, self._left == 0, False, {"success": False}


TASK = ChatTask("count", Count, range(10_000), range(10_000, 10_001))


def figures(effort: Effort) -> list[Figure]:
    """Cost a turn by episodes at once, the same over the bare turns, and how flat it is."""
    with collector.sparing():  # as the command line has it
        return _figures(effort)


def _figures(effort: Effort) -> list[Figure]:
    asyncio.run(_within(max(IN_FLIGHT)))  # warms up
    bare = list[float]()
    within: dict[int, list[float]] = {members: [] for members in IN_FLIGHT}
    for _ in range(effort.repetitions):
        bare.append(asyncio.run(_bare()))
        for members, costs in within.items():
            costs.append(asyncio.run(_within(members)))
    found = []
    for members, costs in within.items():
        detail = {"bare us": statistics.median(bare), "run / bare": statistics.median(costs) / statistics.median(bare)}
        name = f"driver CPU a turn, {members * GOALS:,} episodes"
        found.append(Figure(name, "us", costs, detail, goal=GOAL_US))
    few, *_, many = within.values()
    flat = [most / least for least, most in zip(few, many, strict=True)]
    return [*found, Figure(f"driver CPU a turn, {max(IN_FLIGHT) * GOALS:,} / {GOALS} episodes", "x", flat, goal=FLAT)]


async def _within(members: int) -> float:
    """CPU microseconds a turn within a run."""
    engine = FakeEngine(slots=members)
    began = time.process_time()
    async with Run(TASK, engine, CONFIG) as run:
        await run.wait()
    return (time.process_time() - began) / run.metrics.turns * 1e6


async def _bare() -> float:
    """CPU microseconds a turn of episodes one after the other, without a runtime around them."""
    engine = FakeEngine()
    began = time.process_time()
    async with engine.seat(Member(0)) as seat:
        for goal in range(BARE):
            await TASK.play(MemberPolicy(seat, engine.codec, engine.context, Sampling()), goal, 0)
    return (time.process_time() - began) / (BARE * TURNS) * 1e6
