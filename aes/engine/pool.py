"""Several engines as one: members go to the emptiest and stay there, updates go to all and must agree.

An engine that is lost takes no members and no updates until `aes.engine.revival` has opened it again and had it catch
up. Where somebody sees to that, calls wait for an engine to come back; else they raise EngineLost when none is left.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Self, TypeVar

from aes.engine.device import Device, Missed, WatchedSeat
from aes.errors import ConfigError, DigestMismatch, EngineLost
from aes.protocols import Codec, Engine, Seat
from aes.together import together
from aes.types import Advanced, Member, Update

T = TypeVar("T")


class Pool:
    """A front for one engine per device. All must serve the same model and adapter space.

    Attributes:
        devices: the engines and how they fare.
        version, keep: the newest version, and the older ones that live engines hold beside it.
        supervised: whether lost engines are being opened again.
        updating: held while an update is applied.
    """

    def __init__(self, engines: Sequence[Engine], restarts: int = 3) -> None:
        """`restarts` is how often each engine may be opened again after it was lost."""
        if not engines:
            raise ConfigError("no engine: a pool needs at least one (set devices)")
        self.devices = tuple(Device(engine, restarts) for engine in engines)
        self.version = 0
        self.keep: Collection[int] = ()
        self.supervised = False
        self.updating = asyncio.Lock()
        self._some_live = asyncio.Event()
        self._some_live.set()
        self._queue: deque[asyncio.Future[Device]] = deque()
        self._observing = False
        self._stack = AsyncExitStack()

    @classmethod
    def around(cls, engine: Engine) -> Pool:
        """The engine itself where it is a pool, else a pool of it alone. Whoever opened it has to close it."""
        return engine if isinstance(engine, Pool) else cls([engine])

    @property
    def slots(self) -> int:
        """All engines' slots together."""
        return sum(device.engine.slots for device in self.devices)

    @property
    def context(self) -> int:
        """The shortest context among the engines."""
        return min(device.engine.context for device in self.devices)

    @property
    def codec(self) -> Codec:
        """The codec of the model they share."""
        return self.devices[0].engine.codec

    @property
    def wants_observation(self) -> bool:
        """As the engines say; they share one adapter space."""
        return self.devices[0].engine.wants_observation

    @property
    def fingerprint(self) -> Mapping[str, str]:
        """The first engine's, and how many there are."""
        return {**self.devices[0].engine.fingerprint, "engines": str(len(self.devices))}

    @property
    def load(self) -> Sequence[tuple[str, int]]:
        """Every device with the members seated there."""
        return tuple(entry for device in self.devices for entry in device.engine.load)

    async def __aenter__(self) -> Self:
        """Open every engine; if one fails, those already open are closed."""
        async with AsyncExitStack() as stack:
            for device in self.devices:
                await stack.enter_async_context(device.engine)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._stack.aclose()

    async def lost(self) -> str:
        """Wait until every engine is lost; why the last one was."""
        return [await device.engine.lost() for device in self.devices][-1]

    @asynccontextmanager
    async def seat(self, member: Member) -> AsyncIterator[Seat]:
        """Seat a member on the live engine with the most free slots; waits for one where all are taken.

        A member whose engine was lost meanwhile leaves with EngineLost, whatever its play made of it.
        """
        device = await self._take()
        try:
            with self._noticing(device):
                async with device.engine.seat(member) as seat:
                    watched = WatchedSeat(seat)
                    yield watched
                if watched.lost is not None:
                    raise watched.lost
        finally:
            device.seated -= 1
            self._admit()

    async def observe(self, on: bool) -> None:
        """Record on the first engine, where every member sits meanwhile; its basis then serves all."""
        first = (await self._live())[0]
        self._observing = on
        with self._noticing(first):
            await first.engine.observe(on)

    async def start(self, seed: int, sigma: float, basis: Path) -> tuple[str, int]:
        """Start the first engine, then the others from the basis it wrote. Raises EngineLost, DigestMismatch."""
        first, *others = await self._live()
        with self._noticing(first):
            started = await first.engine.start(seed, sigma, basis)
        results = await self._each(others, lambda engine: engine.start(seed, sigma, basis))
        self._agree([started[0], *(digest for digest, _ in results)], 0)
        self.version, self.keep = 0, ()
        return started

    async def advance(self, update: Update, keep: Collection[int], lags: Collection[int]) -> Advanced:
        """Advance all live engines at once, again if all are lost in it. Raises DigestMismatch when they disagree."""
        while True:
            await self._live()
            async with self.updating:
                devices = [device for device in self.devices if device.live]
                results = await self._each(devices, lambda engine: engine.advance(update, keep, lags))
                if results:
                    self._agree([result.digest for result in results], update.version + 1)
                    self._advanced(update, keep, results[0].digest)
                    return results[0]

    async def export(self, version: int, folder: Path) -> None:
        """Have a live engine write the adapter."""
        while True:
            device = (await self._live())[0]
            try:
                with self._noticing(device):
                    return await device.engine.export(version, folder)
            except EngineLost:
                continue

    def lose(self, device: Device, why: str) -> None:
        """Note that an engine is lost."""
        device.live, device.why = False, why
        if any(device.live for device in self.devices):
            return
        self._some_live.clear()
        for turn in self._queue if not self.supervised else ():
            if not turn.done():
                turn.set_exception(EngineLost(why))

    def found(self, device: Device) -> None:
        """Note that an engine is open again and holds what the live ones hold."""
        device.live = True
        device.lives += 1
        device.missed.clear()
        self._some_live.set()
        self._admit()

    async def _live(self) -> list[Device]:
        """Engines that are live. Waits where there is none, or raises EngineLost where that is in vain."""
        while not (live := [device for device in self.devices if device.live]):
            if not self.supervised:
                await asyncio.sleep(0)  # whoever asks again and again must not keep others from ending that
                raise EngineLost(self.devices[-1].why)
            await self._some_live.wait()
        return live

    async def _take(self) -> Device:
        """Wait in line for a seat. Cancelling gives it up."""
        if not self.supervised:
            await self._live()
        turn: asyncio.Future[Device] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        self._admit()
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                turn.result().seated -= 1
                self._admit()
            raise

    def _admit(self) -> None:
        """Seat those who wait, first come first served."""
        while self._queue:
            if not self._queue[0].done():
                device = self._emptiest()
                if device is None:
                    return
                device.seated += 1
                self._queue[0].set_result(device)
            self._queue.popleft()

    def _emptiest(self) -> Device | None:
        """The live engine with the most free places, if there is one; while the first one observes, that one."""
        free = [device for device in self.devices if device.free > 0]
        return max(free[:1] if self._observing else free, key=lambda device: device.free, default=None)

    @contextmanager
    def _noticing(self, device: Device) -> Iterator[None]:
        """Note when what is done inside finds the engine lost; that is old news once it has been opened again."""
        life = device.lives
        try:
            yield
        except EngineLost as error:
            if device.live and device.lives == life:
                self.lose(device, str(error))
            raise

    async def _each(self, devices: Sequence[Device], call: Callable[[Engine], Awaitable[T]]) -> list[T]:
        """What the engines answer, all at once; those that are lost in it answer nothing."""

        async def ask(device: Device) -> list[T]:
            try:
                with self._noticing(device):
                    return [await call(device.engine)]
            except EngineLost:
                return []

        return [answer for answers in await together(map(ask, devices)) for answer in answers]

    def _advanced(self, update: Update, keep: Collection[int], digest: str) -> None:
        self.version, self.keep = update.version + 1, keep
        for device in self.devices:
            if not device.live and not device.gone:
                device.missed.append(Missed(update, keep, digest))

    @staticmethod
    def _agree(digests: Sequence[str], version: int) -> None:
        if len(set(digests)) > 1:
            raise DigestMismatch(f"engines disagree about version {version}: digests {', '.join(digests)}")
