"""The runtime's own cost: driver CPU a turn with about 1,000 episodes at once, against the same turns played bare.

Both sides run the same fake engine and environment, so the difference is what aes adds: dispatch, policies, tasks,
events, the account.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from aes import ChatTask, Config, Run
from aes.engine.fake import FakeEngine
from aes.policy import MemberPolicy
from aes.types import Member, Sampling
from benchmarks.measure import Figure

TURNS = 4
CONFIG = Config(updates=4, pairs=32, goals=16, eval_goals=0, eval_every=0)


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


async def _bare(engine: FakeEngine, episodes: int) -> int:
    """Episodes one after the other, without a runtime around them."""
    async with engine.seat(Member(0)) as seat:
        for goal in range(episodes):
            policy = MemberPolicy(seat, engine.codec, engine.context, Sampling())
            await TASK.play(policy, goal, 0)
    return episodes * TURNS


async def _run() -> tuple[float, float]:
    """CPU microseconds a turn: within a run, and bare."""
    engine = FakeEngine(slots=64)
    began = time.process_time()
    async with Run(TASK, engine, CONFIG) as run:
        await run.wait()
    within = (time.process_time() - began) / run.metrics.turns
    began = time.process_time()
    turns = await _bare(FakeEngine(), 512)
    return within * 1e6, (time.process_time() - began) / turns * 1e6


def figures(repetitions: int) -> list[Figure]:
    """Cost a turn as a ratio, and the difference in microseconds."""
    sides = [asyncio.run(_run()) for _ in range(repetitions)]
    within, bare = (sum(side[i] for side in sides) / repetitions for i in (0, 1))
    detail = {"in a run us/turn": within, "bare us/turn": bare}
    return [
        Figure("turn cost, 1,024 episodes: run / bare", "x", [a / b for a, b in sides], detail),
        Figure("turn cost, 1,024 episodes: run - bare", "us", [a - b for a, b in sides]),
    ]
