"""Evaluation: the centre of a version plays held-out goals, as one more adapter beside training."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator, Sequence
from typing import Any

from aes.config import Config
from aes.events import Evaluated
from aes.protocols import Engine, Seat, Task
from aes.rollout import play_once
from aes.types import Episode, Member


async def evaluate(task: Task, engine: Engine, config: Config, version: int, goals: Sequence[Any]) -> Evaluated:
    """Play every goal once with the centre of `version`; failed goals score nan. The version must be held meanwhile."""
    began = asyncio.get_running_loop().time()
    episodes: list[Episode | None] = [None] * len(goals)
    left = iter(enumerate(goals))
    async with engine.seat(Member(version)) as seat, asyncio.TaskGroup() as group:
        for _ in range(min(config.eval_concurrency, len(goals))):
            group.create_task(_play_on(task, engine, config, seat, left, episodes))
    played = [episode for episode in episodes if episode is not None]
    return Evaluated(
        version=version,
        scores=tuple(e.fitness if e.failure is None else math.nan for e in played),
        successes=sum(e.success and e.failure is None for e in played),
        failures=sum(e.failure is not None for e in played),
        seconds=asyncio.get_running_loop().time() - began,
        task={"name": task.name, **task.fingerprint},
    )


async def _play_on(
    task: Task,
    engine: Engine,
    config: Config,
    seat: Seat,
    left: Iterator[tuple[int, Any]],
    episodes: list[Episode | None],
) -> None:
    """Take goals one after the other until none is left."""
    for place, goal in left:
        episodes[place] = await play_once(task, seat, engine, config, goal, place)
