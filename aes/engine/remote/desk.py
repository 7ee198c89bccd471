"""The server's side of the wire: who drives the engine, and what he asks of it.

One driver at a time. Its lease ends when it is given back, when the connection of its `hold` breaks, when no `hold` has
come for `LEASE_S`, or when the engine is lost; whatever runs under it is given up then, and the engine serves the next.
"""

from __future__ import annotations

import asyncio
import math
import secrets
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol, TypeVar

from aes import snapshot
from aes.config import Lora
from aes.engine.life import Life
from aes.engine.remote import tensors, wire
from aes.errors import EngineError, EngineLost, EngineUnfit
from aes.lora import LoraSpace
from aes.protocols import Engine

R = TypeVar("R", bound=wire.Record)


class Taken(EngineUnfit):
    """Another driver has the lease."""


class Host(Protocol):
    """What the desk stands before: a process that serves one model."""

    async def hello(self, guest: str) -> wire.Hello:
        """What it is, and who drives it."""
        ...

    def space(self, lora: Lora) -> LoraSpace:
        """The adapter space of its model. Raises ConfigError."""
        ...

    def engine(self, lora: Lora) -> Engine:
        """An engine that serves such adapters, not open yet; never two at once. Raises ConfigError."""
        ...

    async def ping(self) -> None:
        """Return once the engine answers. Raises EngineLost."""
        ...


class Lease:
    """One driver's time with the engine.

    Attributes:
        given, made: A as the driver sent it, or as it was made here, until `start` or `basis` has used it.
        held: versions that the engine has; a member of another one would be its end.
        observing: whether every member is the base model, for now.
        holds: presences that are being answered.
        heard: when the last one was.
    """

    def __init__(self, driver: str, engine: Engine, space: LoraSpace) -> None:
        self.name = secrets.token_hex(16)
        self.driver = driver
        self.engine = engine
        self.space = space
        self.life = Life("here")
        self.given: bytes | None = None
        self.made: bytes | None = None
        self.held: frozenset[int] = frozenset()
        self.observing = False
        self.holds = 0
        self.heard = asyncio.get_running_loop().time()
        self._calls = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """What the engine does under the lease is done inside, and given up with EngineLost when that ends."""
        self._calls += 1
        self._idle.clear()
        try:
            async with self.life.living():
                yield
        finally:
            self._calls -= 1
            if not self._calls:
                self._idle.set()

    async def end(self, why: str) -> None:
        """End it, with all that runs under it: nothing of that must reach the engine once the next driver is there."""
        self.life.end(f"the lease is over ({why})")
        await self._idle.wait()
        await self.engine.__aexit__(None, None, None)

    @property
    def deserted(self) -> bool:
        """Whether its driver must be gone."""
        silent = asyncio.get_running_loop().time() - self.heard
        return self.life.over or (self.holds == 0 and silent > wire.LEASE_S)


class Desk:
    """Takes calls and has the engine do them; each is a method that gives bytes for bytes."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._lease: Lease | None = None
        self._opening = asyncio.Lock()
        self._calls: dict[str, Callable[[Lease, bytes], Awaitable[bytes]]] = {
            "hold": self._hold,
            "close": self._close,
            "generate": self._generate,
            "observe": self._observe,
            "start": self._start,
            "advance": self._advance,
            "export": self._export,
        }

    def longest(self, method: str, call: str, lease: str) -> int:
        """Bytes that a call may send."""
        if (method, call) == ("PUT", "basis") and (found := self._lease) is not None and found.name == lease:
            return tensors.largest(tensors.basis_shapes(found.space))
        return wire.MAX_BODY

    async def answer(self, method: str, call: str, lease: str, body: bytes) -> bytes:
        """The answer to a call. Cancelling gives up what it asked for; that of a `hold` ends the lease.

        Raises AesError, pydantic's ValidationError for what is no such record, LookupError for what is no call.
        """
        if call == "hello":
            guest = "" if self._lease is None or self._lease.deserted else self._lease.driver
            return _json(await self._host.hello(guest))
        if call == "open":
            return _json(await self._open(wire.Open.model_validate_json(body)))
        found = self._lease
        if found is None or not secrets.compare_digest(found.name, lease):
            raise EngineLost("the lease is over (its driver was not heard, or another has come)")
        if call == "basis":
            return await (self._put_basis if method == "PUT" else self._get_basis)(found, body)
        return await self._calls[call](found, body)

    async def _open(self, record: wire.Open) -> wire.Opened:
        """Give the lease to a driver, and have the engine serve its adapters."""
        async with self._opening:
            if (last := self._lease) is not None:
                if not last.deserted:
                    raise Taken(f"it serves another driver ({last.driver}); give each run servers of its own")
                await self._end(last, "its driver was not heard")
            hello = await self._host.hello("")
            if hello.problem:
                raise EngineUnfit(hello.problem)
            lease = Lease(record.driver, self._host.engine(record.lora), self._host.space(record.lora))
            await lease.engine.__aenter__()
            lease.heard = asyncio.get_running_loop().time()
            self._lease = lease
            return wire.Opened(lease=lease.name)

    async def _end(self, lease: Lease, why: str) -> None:
        """End a lease, with all that runs under it."""
        if self._lease is lease:
            self._lease = None
            await lease.end(why)

    async def _hold(self, lease: Lease, body: bytes) -> bytes:
        """Be held by the driver's presence, for as long as it asks; answer at once when the engine is lost."""
        record = wire.Hold.model_validate_json(body)
        lease.holds += 1
        try:
            async with lease.life.living():
                await self._host.ping()
                await _within(record.seconds, lease.engine.lost())
        except asyncio.CancelledError:
            await self._end(lease, "the connection to its driver broke")
            raise
        except EngineLost as error:
            await self._end(lease, str(error))
            raise
        finally:
            lease.holds -= 1
            lease.heard = asyncio.get_running_loop().time()
        return _json(wire.Done())

    async def _close(self, lease: Lease, body: bytes) -> bytes:
        wire.Done.model_validate_json(body)
        await self._end(lease, "its driver has given it back")
        return _json(wire.Done())

    async def _generate(self, lease: Lease, body: bytes) -> bytes:
        record = wire.Generate.model_validate_json(body)
        if not lease.observing and record.member.version not in lease.held:
            raise EngineError(f"version {record.member.version} is not held (held: {sorted(lease.held)})")
        async with lease.working(), lease.engine.seat(record.member) as seat:
            reply = await seat.generate(record.prompt, record.sampling)
        return _json(wire.Generated(token_ids=reply.token_ids, finish_reason=reply.finish_reason))

    async def _observe(self, lease: Lease, body: bytes) -> bytes:
        record = wire.Observe.model_validate_json(body)
        async with lease.working():
            await lease.engine.observe(record.on)
            lease.observing = record.on
        return _json(wire.Done())

    async def _put_basis(self, lease: Lease, body: bytes) -> bytes:
        shapes = tensors.basis_shapes(lease.space)
        await asyncio.to_thread(tensors.check, body, shapes, "the A that was sent")
        lease.given = body
        return _json(wire.Done())

    async def _get_basis(self, lease: Lease, body: bytes) -> bytes:
        wire.Done.model_validate_json(body)
        if lease.made is None:
            raise EngineUnfit("no A has been made here (start first)")
        return lease.made

    async def _start(self, lease: Lease, body: bytes) -> bytes:
        record = wire.Start.model_validate_json(body)
        with tempfile.TemporaryDirectory(prefix="aes-") as folder:
            basis = Path(folder, "basis.safetensors")
            if (given := lease.given) is not None:
                await asyncio.to_thread(basis.write_bytes, given)
            async with lease.working():
                digest, dim = await lease.engine.start(record.seed, record.sigma, basis)
                lease.held = frozenset({0})
            if lease.engine.wants_observation and given is None:
                lease.made = await asyncio.to_thread(basis.read_bytes)
        lease.given = None
        return _json(wire.Started(digest=digest, dim=dim))

    async def _advance(self, lease: Lease, body: bytes) -> bytes:
        record = wire.Advance.model_validate_json(body)
        async with lease.working():
            advanced = await lease.engine.advance(record.update, set(record.keep), record.lags)
            lease.held = frozenset({*lease.held.intersection(record.keep), record.update.version + 1})
        moved = (advanced.moved[lag] for lag in record.lags)
        return _json(wire.Moved(digest=advanced.digest, moved=tuple(m if math.isfinite(m) else None for m in moved)))

    async def _export(self, lease: Lease, body: bytes) -> bytes:
        record = wire.Export.model_validate_json(body)
        with tempfile.TemporaryDirectory(prefix="aes-") as folder:
            async with lease.working():
                await lease.engine.export(record.version, Path(folder))
            return await asyncio.to_thread(Path(folder, snapshot.WEIGHTS).read_bytes)


async def _within(seconds: float, lost: Awaitable[str]) -> None:
    """Wait for so long, unless the engine is lost meanwhile. Raises EngineLost."""
    try:
        async with asyncio.timeout(seconds):
            why = await lost
    except TimeoutError:
        return
    raise EngineLost(why)


def _json(record: wire.Record) -> bytes:
    return record.model_dump_json().encode()
