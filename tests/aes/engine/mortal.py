"""Fake engines that take their time at everything, so that they can die in the midst of anything."""

from __future__ import annotations

import asyncio
import math
import zlib
from collections.abc import Collection
from pathlib import Path
from typing import Self

from aes.engine.fake import FakeEngine
from aes.errors import EngineError
from aes.types import Advanced, Member, Update

OPENING, STARTING, ADVANCING, EXPORTING = 3.0, 0.7, 0.4, 0.3


def uneven(member: Member, length: int) -> float:
    """Seconds per reply that differ tenfold and more between members."""
    share = zlib.crc32(f"{member.name} {length}".encode()) / 2**32
    return 0.05 - math.log(1 - share)


class Mortal(FakeEngine):
    """Opens in three seconds, and applies an update in half of one: dying may come before that or after."""

    def __init__(self, slots: int = 4, unable: int = 0) -> None:
        """`unable` is how often it fails to open."""
        super().__init__(slots=slots, latency=uneven)
        self.unable = unable
        self.opened = 0

    async def __aenter__(self) -> Self:
        await asyncio.sleep(OPENING)
        if self.opened and self.unable:
            self.unable -= 1
            raise EngineError("engine fake: no memory")
        self.opened += 1
        return await super().__aenter__()

    async def start(self, seed: int, sigma: float, basis: Path, run: str = "") -> tuple[str, int]:
        async with self.working():
            await asyncio.sleep(STARTING)
            return await super().start(seed, sigma, basis, run)

    async def advance(self, update: Update, keep: Collection[int], lags: Collection[int], run: str = "") -> Advanced:
        async with self.working():
            await asyncio.sleep(ADVANCING / 2)
            advanced = await super().advance(update, keep, lags, run)
            await asyncio.sleep(ADVANCING / 2)
            return advanced

    async def export(self, version: int, folder: Path, run: str = "") -> None:
        async with self.working():
            await asyncio.sleep(EXPORTING)
            await super().export(version, folder, run)


class Observant(Mortal):
    """Starts only from a basis, which it can write after it has observed, and forgets what it has seen when it dies."""

    wants_observation = True

    def __init__(self, slots: int = 4) -> None:
        super().__init__(slots)
        self.seen = False

    async def __aenter__(self) -> Self:
        self.seen = False
        return await super().__aenter__()

    async def observe(self, on: bool) -> None:
        async with self.working():
            await asyncio.sleep(STARTING)
            self.seen = on or self.seen

    async def start(self, seed: int, sigma: float, basis: Path, run: str = "") -> tuple[str, int]:
        async with self.working():
            if not basis.exists():  # noqa: ASYNC240
                if not self.seen:
                    raise AssertionError("started without a basis")
                basis.write_text("basis")  # noqa: ASYNC240
            return await super().start(seed, sigma, basis, run)
