"""The clock: the only finite loop of a run. It gathers measurements, applies an update, and starts the next version."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence

import numpy as np

from aes import strategy
from aes.config import Config
from aes.dispatch import Dispatcher
from aes.events import Event, Updated
from aes.protocols import Engine
from aes.types import Advanced, Measurement, Update


class Clock:
    """Applies `config.updates` updates, each as soon as the schedule allows it.

    `pinned` are versions that evaluation still needs; `reached` is called with every new version once it is live.
    """

    def __init__(
        self,
        engine: Engine,
        config: Config,
        dispatcher: Dispatcher,
        players: int,
        emit: Callable[[Event], None],
        pinned: Callable[[], Collection[int]],
        reached: Callable[[int], Awaitable[None]],
    ) -> None:
        self._engine = engine
        self._config = config
        self._dispatcher = dispatcher
        self._players = players
        self._emit = emit
        self._pinned = pinned
        self._reached = reached

    async def run(self) -> None:
        """Tick until the last update is applied."""
        for version in range(self._dispatcher.version, self._config.updates):
            await self._tick(version)

    async def _tick(self, version: int) -> None:
        began, idle = asyncio.get_running_loop().time(), self._dispatcher.idle_seconds()
        measurements = await self._dispatcher.gather(version)
        update = strategy.update_of(self._config, version, measurements)
        lags = [version - m.proposal.version for m in measurements]
        advanced = await self._engine.advance(update, self._keep(version), set(lags))
        seconds = asyncio.get_running_loop().time() - began
        idle = (self._dispatcher.idle_seconds() - idle) / max(seconds * self._players, 1e-9)
        self._emit(self._report(update, measurements, advanced, seconds, idle))
        await self._dispatcher.release(version + 1, measurements)
        await self._reached(version + 1)

    def _keep(self, version: int) -> set[int]:
        """Versions that members in flight, the plan, or an evaluation may still ask for after this update.

        A member that was just dropped may yet be on its way into the engine, so its version stays one update longer.
        """
        dropping = self._config.on_stale == "drop"
        recent = range(max(0, version + 1 - self._config.max_lag - dropping), version + 1)
        return {*recent, *self._dispatcher.ledger.versions, *self._pinned()}

    def _report(
        self, update: Update, measurements: Sequence[Measurement], advanced: Advanced, seconds: float, idle: float
    ) -> Updated:
        fitness = np.array([m.fitness for m in measurements])
        compared = fitness[:, 0] - fitness[:, 1] if fitness.shape[1] == 2 else fitness[:, 0]
        return Updated(
            update=update,
            consumed=tuple(m.proposal.index for m in measurements),
            lags=tuple(update.version - m.proposal.version for m in measurements),
            fitness=float(fitness.mean()),
            deviation=float(compared.std()),
            digest=advanced.digest,
            moved={lag: distance / self._config.sigma for lag, distance in advanced.moved.items()},
            skipped=not update.terms,
            seconds=seconds,
            idle=idle,
        )
