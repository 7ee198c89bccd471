"""Revival: an engine that is lost is opened again and brought to where the others are, while they work on.

    lost      it takes no members and no updates; what it was doing is done again elsewhere, or by itself later
    opened    the process is a new one and knows nothing
    rebuilt   every version up to that of the moment is made again from the run's journal, its digest checked
    caught up what the others applied meanwhile is applied, the last of it while no update can be under way
    live      as if nothing had happened

Each engine may be opened again a few times, in a run as a whole. One that cannot be is gone for good: the others go on
without it, and when none is left the run ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import TypeVar

from aes.engine.device import Device
from aes.engine.pool import Pool
from aes.errors import DigestMismatch, EngineError, EngineLost
from aes.events import EngineDown, EngineUp
from aes.protocols import Engine

T = TypeVar("T")

Rebuild = Callable[[Engine, int, Collection[int]], Awaitable[None]]
"""Has an engine that was just opened hold a version of the run, and older ones that are named."""


class Reviver:
    """Opens the lost engines of a pool again. `emit` hears of every loss and return."""

    def __init__(self, pool: Pool, rebuild: Rebuild, emit: Callable[[EngineDown | EngineUp], None]) -> None:
        self._pool = pool
        self._rebuild = rebuild
        self._emit = emit

    async def persist(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """What an attempt comes to in which no engine is needed that is lost; made before `run`, as often as it takes.

        Between tries, one engine is opened again where none is left. Raises EngineError where none can be.
        """
        while True:
            try:
                return await attempt()
            except EngineLost:
                if not any(device.live for device in self._pool.devices):
                    await self._open_one()

    async def run(self) -> None:
        """Revive whatever is lost, until cancelled. Raises EngineError when no engine is left."""
        self._pool.supervised = True
        try:
            async with asyncio.TaskGroup() as group:
                for device in self._pool.devices:
                    group.create_task(self._tend(device), name=f"engine {device.name}")
        finally:
            self._pool.supervised = False

    async def _tend(self, device: Device) -> None:
        """Watch over one engine, until it is gone for good."""
        while not device.gone:
            self._pool.lose(device, await device.engine.lost())
            await self._opened(device, self._catch_up)

    async def _open_one(self) -> None:
        """Have one engine open and live, with nothing in it."""
        for device in self._pool.devices:
            if not device.gone and await self._opened(device, self._leave_empty):
                return

    async def _opened(self, device: Device, then: Callable[[Device], Awaitable[None]]) -> bool:
        """Open a lost engine again and do what comes then, as often as it may be tried; False when it is gone."""
        began, why = asyncio.get_running_loop().time(), await device.engine.lost()
        while device.restarts:
            self._emit(EngineDown(device.name, why, device.restarts))
            device.restarts -= 1
            try:
                await device.engine.__aexit__(None, None, None)
                await device.engine.__aenter__()
                await then(device)
            except EngineError as error:
                why = str(error).removeprefix(f"engine {device.name}: ")
            else:
                self._emit(EngineUp(device.name, asyncio.get_running_loop().time() - began))
                return True
        device.gone = True
        await device.engine.__aexit__(None, None, None)
        self._emit(EngineDown(device.name, why, 0))
        if all(other.gone for other in self._pool.devices):
            raise EngineError(f"engine {device.name}: lost for good, and no other is left: {why} (resume the run)")
        return False

    async def _leave_empty(self, device: Device) -> None:
        self._pool.found(device)

    async def _catch_up(self, device: Device) -> None:
        """Have an engine that knows nothing hold what the live ones hold, and let it work again."""
        pool = self._pool
        device.missed.clear()  # from here on, whatever the others apply is noted
        await self._rebuild(device.engine, pool.version, pool.keep)
        await self._apply_missed(device)
        async with pool.updating:
            await self._apply_missed(device)
            pool.found(device)

    async def _apply_missed(self, device: Device) -> None:
        while device.missed:
            missed = device.missed.pop(0)
            advanced = await device.engine.advance(missed.update, missed.keep, ())
            if advanced.digest != missed.digest:
                raise DigestMismatch(
                    f"engine {device.name} disagrees about version {missed.update.version + 1} after its return:"
                    f" digests {missed.digest}, {advanced.digest}"
                )
