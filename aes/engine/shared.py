"""One engine for several runs of one process at once: each has a centre of its own there, and they share its slots.

    Shared   the engine itself, its places (first come, first served), and how often it has been opened
    Part     what one run is given: an Engine like any other; a pool of several engines takes one part of each

A member's name says whose it is, so that no adapter and no cached prompt of one run is ever served to another. When the
engine is lost every run notices; the first to come opens it again, and each makes its own versions anew.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Protocol, Self

from aes.errors import EngineLost
from aes.protocols import Codec, Engine, Seat
from aes.types import Advanced, Member, Update


class Shareable(Engine, Protocol):
    """An engine that holds a centre for each `run` that is named: the fake one, and vLLM on this machine."""

    async def start(self, seed: int, sigma: float, basis: Path, run: str = "") -> tuple[str, int]:
        """As any engine, for one run."""
        ...

    async def advance(self, update: Update, keep: Collection[int], lags: Collection[int], run: str = "") -> Advanced:
        """As any engine, for one run."""
        ...

    async def export(self, version: int, folder: Path, run: str = "") -> None:
        """As any engine, for one run."""
        ...

    async def forget(self, run: str) -> None:
        """Drop a run's centre."""
        ...


class Shared:
    """An engine that several runs use at once. Entering opens it, leaving closes it.

    Example:
        async with Shared(FakeEngine()) as engine, engine.part() as mine, engine.part() as yours:
            async with Run(task, mine, config) as one, Run(other_task, yours, config) as other:
                await asyncio.gather(one.wait(), other.wait())
    """

    def __init__(self, engine: Shareable) -> None:
        self.engine = engine
        self._lives = self._lost = 0
        self._opening = asyncio.Lock()
        self._places = asyncio.Semaphore(engine.slots + 1)  # one more for evaluation, as in an engine for one run
        self._inside: Counter[Part] = Counter()
        self._alone: Part | None = None
        self._news = asyncio.Event()
        self._names = count(1)

    async def __aenter__(self) -> Self:
        await self.engine.__aenter__()
        self._lives += 1
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.engine.__aexit__(*exc)

    def part(self) -> Part:
        """A run's part of the engine, to be entered before the run and left after it."""
        return Part(self)

    async def opened(self) -> int:
        """Have the engine open, again if it was lost; in which of its lives it is."""
        async with self._opening:
            if self._lost == self._lives:
                await self.engine.__aexit__(None, None, None)
                await self.engine.__aenter__()
                self._lives += 1
        return self._lives

    async def lost(self, life: int) -> str:
        """Wait for the end of one of its lives; why."""
        if life != self._lives:
            return "it has been opened again"
        why = await self.engine.lost()
        self._lost = max(self._lost, life)
        return why

    def check(self, life: int) -> None:
        """Raise EngineLost where this is no longer the engine's life."""
        if life != self._lives:
            raise EngineLost("engine: opened again since, or this run's part of it is not entered (`async with`)")

    def name(self) -> str:
        """A name that no run has had."""
        return str(next(self._names))

    @asynccontextmanager
    async def place(self, part: Part) -> AsyncIterator[None]:
        """One of the places, for a member to sit in; waits in line for it."""
        while True:
            await self._admitted(part)
            async with self._places:
                if self._alone in (None, part):
                    with self.using(part):
                        yield
                    return

    @contextlib.contextmanager
    def using(self, part: Part) -> Iterator[None]:
        """Whoever wants the engine alone waits until this is left."""
        self._inside[part] += 1
        try:
            yield
        finally:
            self._inside[part] -= 1
            self._tell()

    @asynccontextmanager
    async def admitted(self, part: Part) -> AsyncIterator[None]:
        """Use of the engine without a place, not while another part has it alone."""
        await self._admitted(part)
        with self.using(part):
            yield

    async def alone(self, part: Part) -> None:
        """Have the engine for this part alone: all others have left their places, and get none."""
        await self._admitted(part)
        self._alone = part
        try:
            while any(users for other, users in self._inside.items() if other is not part):
                await self._news.wait()
        except BaseException:
            self.together(part)
            raise

    def has_alone(self, part: Part) -> bool:
        """Whether a part has the engine alone."""
        return self._alone is part

    def together(self, part: Part) -> None:
        """Have it alone no longer."""
        if self._alone is part:
            self._alone = None
            self._tell()

    async def _admitted(self, part: Part) -> None:
        while self._alone not in (None, part):
            await self._news.wait()

    def _tell(self) -> None:
        """Wake all who wait for others to leave."""
        self._news.set()
        self._news = asyncio.Event()


class Part:
    """One run's part of a shared engine. Entering it joins the engine, leaving it drops the run's centre there."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._engine = shared.engine
        self._life = 0
        self._run = ""
        self._seated = 0

    @property
    def slots(self) -> int:
        """All of the engine's: a run that is alone may use them all."""
        return self._engine.slots

    @property
    def context(self) -> int:
        """As the engine."""
        return self._engine.context

    @property
    def codec(self) -> Codec:
        """As the engine."""
        return self._engine.codec

    @property
    def wants_observation(self) -> bool:
        """As the engine."""
        return self._engine.wants_observation

    @property
    def fingerprint(self) -> Mapping[str, str]:
        """As the engine: nothing that is learned depends on who else is there."""
        return self._engine.fingerprint

    @property
    def load(self) -> Sequence[tuple[str, int]]:
        """The device, and this run's members on it."""
        return [(device, self._seated) for device, _ in self._engine.load]

    async def __aenter__(self) -> Self:
        """Join, opening the engine again if it was lost. Raises what its opening raises."""
        self._life = await self._shared.opened()
        return self

    async def __aexit__(self, *exc: object) -> None:
        run, self._run = self._run, ""
        try:
            with contextlib.suppress(EngineLost):
                self._shared.check(self._life)
                if self._shared.has_alone(self):
                    await self._engine.observe(False)
                if run:
                    await self._engine.forget(run)
        finally:
            self._life = 0
            self._shared.together(self)

    async def lost(self) -> str:
        """Wait until the engine dies or hangs; why."""
        return await self._shared.lost(self._life)

    @asynccontextmanager
    async def seat(self, member: Member) -> AsyncIterator[Seat]:
        """A place for one of the run's members, once one is free."""
        async with self._shared.place(self):
            self._shared.check(self._life)
            self._seated += 1
            try:
                async with self._engine.seat(replace(member, run=self._run)) as seat:
                    yield seat
            finally:
                self._seated -= 1

    async def observe(self, on: bool) -> None:
        """Record inputs with nobody else in the engine, for they would be recorded too."""
        self._shared.check(self._life)
        if on:
            await self._shared.alone(self)
        await self._engine.observe(on)
        if not on:
            self._shared.together(self)

    async def start(self, seed: int, sigma: float, basis: Path) -> tuple[str, int]:
        """Make version 0 of a centre of its own; see `aes.protocols.Engine`."""
        self._shared.check(self._life)
        async with self._shared.admitted(self):
            run, self._run = self._run, self._shared.name()
            if run:
                await self._engine.forget(run)
            return await self._engine.start(seed, sigma, basis, self._run)

    async def advance(self, update: Update, keep: Collection[int], lags: Collection[int]) -> Advanced:
        """Apply an update to the run's centre."""
        self._shared.check(self._life)
        return await self._engine.advance(update, keep, lags, self._run)

    async def export(self, version: int, folder: Path) -> None:
        """Write one of the run's versions."""
        self._shared.check(self._life)
        await self._engine.export(version, folder, self._run)
