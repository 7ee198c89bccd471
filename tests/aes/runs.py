"""Whole runs on the fake engine, for the tests of many modules: settings, uneven engines, and what a run told."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from aes import ChatTask, Config, Episode, Policy, Run
from aes.events import Event, Started, Updated
from aes.protocols import Engine, Task
from aes.types import Member

T = TypeVar("T", bound=Event)

SMALL = {"pairs": 4, "goals": 3, "updates": 6, "eval_every": 2, "eval_goals": 5, "sigma": 1.0, "lr": 1.0}


def config(**changes: Any) -> Config:
    return Config.parse(SMALL | changes)


def uneven(salt: int = 0, scale: float = 1.0) -> Callable[[Member, int], float]:
    """Seconds per reply that differ tenfold and more between members, the same in every run of one salt."""

    def latency(member: Member, length: int) -> float:
        share = zlib.crc32(f"{salt} {member.name} {length}".encode()) / 2**32
        return scale * (0.05 - math.log(1 - share))

    return latency


async def played(task: Task, engine: Engine, settings: Config, folder: Path | None = None) -> list[Event]:
    async with engine, Run(task, engine, settings, folder) as run:
        return [event async for event in run]


def of(kind: type[T], events: Sequence[Event]) -> list[T]:
    return [event for event in events if isinstance(event, kind)]


def digests(events: Sequence[Event]) -> list[str]:
    return [event.digest for event in events if isinstance(event, Started | Updated)]


class Wrapped:
    """A task that plays as another does, with something before it."""

    def __init__(self, task: ChatTask, before: Callable[[Any], Any]) -> None:
        self._task = task
        self._before = before
        self.name, self.train_goals, self.eval_goals = task.name, task.train_goals, task.eval_goals
        self.fingerprint = task.fingerprint

    async def play(self, policy: Policy, goal: Any, seed: int) -> Episode:
        await self._before(goal)
        return await self._task.play(policy, goal, seed)
