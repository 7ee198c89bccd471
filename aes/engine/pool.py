"""Several engines as one: members go to the emptiest and stay there, updates go to all and must agree."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Self, TypeVar

from aes.errors import ConfigError, DigestMismatch, raise_bare
from aes.protocols import Codec, Engine, Seat
from aes.types import Advanced, Member, Update

T = TypeVar("T")


class Pool:
    """A front for one engine per device. All must serve the same model and adapter space."""

    def __init__(self, engines: Sequence[Engine]) -> None:
        if not engines:
            raise ConfigError("no engine: a pool needs at least one (set devices)")
        self._engines = tuple(engines)
        self._seated = [0] * len(engines)
        self._observing = False
        self._stack = AsyncExitStack()

    @property
    def slots(self) -> int:
        """All engines' slots together."""
        return sum(engine.slots for engine in self._engines)

    @property
    def context(self) -> int:
        """The shortest context among the engines."""
        return min(engine.context for engine in self._engines)

    @property
    def codec(self) -> Codec:
        """The codec of the model they share."""
        return self._engines[0].codec

    @property
    def wants_observation(self) -> bool:
        """As the engines say; they share one adapter space."""
        return self._engines[0].wants_observation

    @property
    def fingerprint(self) -> Mapping[str, str]:
        """The first engine's, and how many there are."""
        return {**self._engines[0].fingerprint, "engines": str(len(self._engines))}

    @property
    def load(self) -> Sequence[tuple[str, int]]:
        """Every device with the members seated there."""
        return tuple(entry for engine in self._engines for entry in engine.load)

    async def __aenter__(self) -> Self:
        """Open every engine; if one fails, those already open are closed."""
        async with AsyncExitStack() as stack:
            for engine in self._engines:
                await stack.enter_async_context(engine)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._stack.aclose()

    @asynccontextmanager
    async def seat(self, member: Member) -> AsyncIterator[Seat]:
        """Seat a member on the engine with the most free slots; it stays there."""
        where = 0 if self._observing else self._emptiest()
        self._seated[where] += 1
        try:
            async with self._engines[where].seat(member) as seat:
                yield seat
        finally:
            self._seated[where] -= 1

    async def observe(self, on: bool) -> None:
        """Record on the first engine, where every member sits meanwhile; its basis then serves all."""
        self._observing = on
        await self._engines[0].observe(on)

    async def start(self, seed: int, sigma: float, basis: Path) -> tuple[str, int]:
        """Start the first engine, then the others from the basis it wrote. Raises DigestMismatch."""
        first = await self._engines[0].start(seed, sigma, basis)
        others = await _all([engine.start(seed, sigma, basis) for engine in self._engines[1:]])
        self._agree([first[0], *(digest for digest, _ in others)], 0)
        return first

    async def advance(self, update: Update, keep: Collection[int], lags: Collection[int]) -> Advanced:
        """Advance all engines at once. Raises DigestMismatch when they disagree afterwards."""
        results = await _all([engine.advance(update, keep, lags) for engine in self._engines])
        self._agree([result.digest for result in results], update.version + 1)
        return results[0]

    async def export(self, version: int, folder: Path) -> None:
        """Have the first engine write the adapter."""
        await self._engines[0].export(version, folder)

    def _emptiest(self) -> int:
        free = [engine.slots - seated for engine, seated in zip(self._engines, self._seated, strict=True)]
        return free.index(max(free))

    @staticmethod
    def _agree(digests: Sequence[str], version: int) -> None:
        if len(set(digests)) > 1:
            raise DigestMismatch(f"engines disagree about version {version}: digests {', '.join(digests)}")


async def _all(calls: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Await all at once; the first failure cancels the rest and is raised bare."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(call) for call in calls]
    except BaseExceptionGroup as errors:
        raise_bare(errors)
    return [task.result() for task in tasks]
