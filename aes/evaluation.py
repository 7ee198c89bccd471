"""Evaluation: the centre of a version plays held-out goals, as one more adapter beside training."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from aes.errors import EngineLost
from aes.events import Evaluated, Event
from aes.failures import summary
from aes.past import Past
from aes.protocols import Seat
from aes.referee import Referee
from aes.together import together
from aes.types import Episode, Member


class Evaluator:
    """Evaluates and exports the versions that the settings ask for, one after the other; their weights stay held."""

    def __init__(self, referee: Referee, folder: Path | None, past: Past | None, emit: Callable[[Event], None]) -> None:
        self._referee = referee
        self._config = referee.config
        self._folder = folder
        self._emit = emit
        self._goals = referee.task.eval_goals[: referee.config.eval_goals]
        self._first = past.first if past else 0
        self._evaluated = set(past.evaluated) if past else set[int]()
        self._versions: asyncio.Queue[int | None] = asyncio.Queue()
        self._pinned: Counter[int] = Counter()

    @property
    def pinned(self) -> Collection[int]:
        """Versions that are still needed."""
        return set(self._pinned)

    def due(self, version: int) -> list[int]:
        """Versions up to `version` that the settings ask for and that are not done with yet."""
        return [v for v in range(self._first, version + 1) if self._wanted(v) and not self._done(v)]

    async def reached(self, version: int) -> None:
        """Note that a version is live."""
        if self._wanted(version):
            self._pinned[version] += 1
            await self._versions.put(version)

    async def no_more(self) -> None:
        """Note that no version will follow."""
        await self._versions.put(None)

    async def run(self) -> None:
        """Evaluate and export versions as they come, until told that no more will."""
        while (version := await self._versions.get()) is not None:
            if self._goals and version not in self._evaluated:
                self._emit(await self._evaluate(version))
            if self._folder is not None:
                await self._referee.engine.export(version, self._snapshot(version))
            del self._pinned[version]

    async def _evaluate(self, version: int) -> Evaluated:
        """Evaluate a version, from the start again where its engine is lost meanwhile."""
        while True:
            try:
                return await evaluate(self._referee, version, self._goals)
            except EngineLost:
                continue

    def _wanted(self, version: int) -> bool:
        every = self._config.eval_every
        return version in (self._first, self._config.updates) or bool(every and version % every == 0)

    def _done(self, version: int) -> bool:
        evaluated = not self._goals or version in self._evaluated
        return evaluated and (self._folder is None or (self._snapshot(version) / "adapter_config.json").is_file())

    def _snapshot(self, version: int) -> Path:
        return (self._folder or Path()) / "adapters" / f"v{version:05d}"


async def evaluate(referee: Referee, version: int, goals: Sequence[Any]) -> Evaluated:
    """Play every goal with the centre of `version`; failed goals score nan. The version must be held meanwhile."""
    began = asyncio.get_running_loop().time()
    episodes: list[Episode | None] = [None] * len(goals)
    left = iter(enumerate(goals))
    async with referee.engine.seat(Member(version)) as seat:
        side_by_side = range(min(referee.config.eval_concurrency, len(goals)))
        await together(_play_on(referee, seat, left, episodes) for _ in side_by_side)
    played = [episode for episode in episodes if episode is not None]
    failures = [episode.failure for episode in played if episode.failure is not None]
    solved = tuple(place for place, e in enumerate(played) if e.success and e.failure is None)
    return Evaluated(
        version=version,
        scores=tuple(e.fitness if e.failure is None else math.nan for e in played),
        successes=len(solved),
        failures=len(failures),
        seconds=asyncio.get_running_loop().time() - began,
        task={"name": referee.task.name, **referee.task.fingerprint},
        why=summary(failures),
        solved=solved,
    )


async def _play_on(
    referee: Referee, seat: Seat, left: Iterator[tuple[int, Any]], episodes: list[Episode | None]
) -> None:
    """Take goals one after the other until none is left."""
    for place, goal in left:
        episodes[place] = await referee.play(seat, goal, place)
