"""An engine elsewhere, as its driver sees it: one `vllm serve` that was started with our worker and our door.

What is asked of it travels as token ids, seeds and scalars (see `aes.engine.remote.wire`). A server that is gone is a
lost engine: it is waited for, and once it is back it is rebuilt from the run's journal like any other.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self

from aes import snapshot
from aes.config import Lora
from aes.engine.codec import ChatCodec
from aes.engine.model import BaseModel
from aes.engine.remote import handshake, tensors, wire
from aes.engine.remote.connection import Connection
from aes.engine.remote.handshake import Wanted
from aes.engine.remote.link import Busy, Link
from aes.engine.vllm import space_of
from aes.errors import EngineError, EngineLost, EngineUnfit
from aes.protocols import Codec
from aes.types import Advanced, Completion, Member, Sampling, Update

POLL_S = 1.0
"""Seconds between two tries to reach a server that is away, or has another driver."""

MEET_S = 60.0
"""Seconds in which a server says what it is; the first time it reads its model's configuration."""

BUSY_S = wire.LEASE_S + wire.HOLD_S
"""Seconds in which a server finds out that a driver it had is gone."""


class RemoteEngine:
    """One server elsewhere. Entering takes its lease, leaving gives it back; the server itself goes on.

    `look` may be called before, and tells what the server is, for whoever must know before anything starts.
    """

    def __init__(
        self,
        url: str,
        model: BaseModel,
        settings: Lora,
        token: str,
        dtype: str = "auto",
        context: int | None = None,
        engine_seconds: float = 300.0,
        codec: Codec | None = None,
    ) -> None:
        """`codec` is the model's own where it is None. Raises ConfigError where the adapters do not fit the model."""
        space = space_of(model, settings)
        self._url = url
        self._settings = settings
        self._wanted = Wanted(model, dtype, space, context, settings.basis == "activations")
        self._token = token
        self._seconds = engine_seconds
        self._codec = codec
        self._hello: wire.Hello | None = None
        self._connection: Connection | None = None
        self._opened = False
        self._seated = 0

    @property
    def slots(self) -> int:
        """The server's; known once it has been looked at."""
        return self._known().slots

    @property
    def context(self) -> int:
        """As wanted, or the server's; known once it has been looked at."""
        return self._wanted.context or self._known().context

    @property
    def codec(self) -> Codec:
        """The model's tokenizer and chat template; there once the engine is open."""
        if self._codec is None:
            raise EngineError(f"engine {self._url}: not open (enter it with `async with`)")
        return self._codec

    @property
    def wants_observation(self) -> bool:
        """True when A starts from activations."""
        return self._wanted.observes

    @property
    def fingerprint(self) -> Mapping[str, str]:
        """As a local engine's: a run may go on there, or from there."""
        hello, model = self._known(), self._wanted.model
        return {
            "engine": "vllm",
            "vllm": hello.vllm,
            "torch": hello.torch,
            "model": model.name,
            "model_digest": model.digest,
            "lora": self._settings.model_dump_json(),
            "dim": str(self._wanted.space.dim),
            "device": hello.device,
            "dtype": hello.dtype,
        }

    @property
    def load(self) -> Sequence[tuple[str, int]]:
        """The server and the members seated there."""
        return ((self._url, self._seated),)

    async def look(self) -> None:
        """See what the server is. Raises EngineUnfit where it is not there, or not what is wanted."""
        async with Link(self._url, self._token) as link:
            try:
                await self._meet(link)
            except EngineLost as error:
                raise EngineUnfit(f"{error} (start it with the line that `aes engine` prints)") from None

    async def __aenter__(self) -> Self:
        """Take the lease; one that was there before is waited for. Raises EngineUnfit, DataError (the tokenizer)."""
        if self._codec is None:
            self._codec = await asyncio.to_thread(ChatCodec.load, self._wanted.model.name)
        link = await Link(self._url, self._token).__aenter__()
        try:
            self._connection = await self._lease(link)
        except BaseException:
            await link.__aexit__()
            raise
        self._opened = True
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Give the lease back; where nobody is there to take it, leave it to its end."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def lost(self) -> str:
        """Wait until the server is gone, or has not answered for too long; why."""
        return "it is not open" if self._connection is None else await self._connection.lost()

    @asynccontextmanager
    async def seat(self, member: Member) -> AsyncIterator[RemoteSeat]:
        """Seat a member; see `aes.engine.vllm.VllmEngine.seat`."""
        connection = self._open()
        self._seated += 1
        try:
            yield RemoteSeat(connection, member, self.codec)
        finally:
            self._seated -= 1

    async def observe(self, on: bool) -> None:
        """Have the server record the inputs of the adapted modules."""
        await self._open().ask("observe", wire.Observe(on=on), wire.Done)

    async def start(self, seed: int, sigma: float, basis: Path) -> tuple[str, int]:
        """Have version 0 made, from the file `basis` or into it; see `aes.protocols.Engine`."""
        connection, observes, space = self._open(), self.wants_observation, self._wanted.space
        given = observes and await asyncio.to_thread(basis.exists)
        if given:
            await connection.put("basis", await asyncio.to_thread(basis.read_bytes))
        started = await connection.ask("start", wire.Start(seed=seed, sigma=sigma), wire.Started)
        if observes and not given:
            shapes = tensors.basis_shapes(space)
            data = await connection.fetch("basis", wire.Done(), tensors.largest(shapes))
            await asyncio.to_thread(tensors.check, data, shapes, f"engine {self._url}: the A it made")
            await asyncio.to_thread(_write, basis, data)
        return started.digest, started.dim

    async def advance(self, update: Update, keep: Collection[int], lags: Collection[int]) -> Advanced:
        """Have an update applied."""
        wanted = sorted(lags)
        record = wire.Advance(update=update, keep=tuple(sorted(keep)), lags=tuple(wanted))
        answer = await self._open().ask("advance", record, wire.Moved, again=False)
        if len(answer.moved) != len(wanted):
            raise EngineError(f"engine {self._url}: {len(answer.moved)} distances for {len(wanted)} lags")
        moved = [math.nan if distance is None else distance for distance in answer.moved]
        return Advanced(answer.digest, dict(zip(wanted, moved, strict=True)))

    async def export(self, version: int, folder: Path) -> None:
        """Fetch an adapter and write it in PEFT format."""
        space, model = self._wanted.space, self._wanted.model
        shapes = tensors.adapter_shapes(space)
        data = await self._open().fetch("export", wire.Export(version=version), tensors.largest(shapes))
        await asyncio.to_thread(tensors.check, data, shapes, f"engine {self._url}: the adapter of version {version}")
        await asyncio.to_thread(snapshot.place, folder, space, data, model.name)

    async def _meet(self, link: Link) -> None:
        try:
            async with asyncio.timeout(MEET_S):
                data = await link.hello()
        except TimeoutError:
            raise EngineLost(f"engine {self._url}: no answer for {MEET_S:g} s") from None
        hello = handshake.read(data, self._url)
        handshake.check(hello, self._wanted, self._url)
        self._hello = hello

    async def _lease(self, link: Link) -> Connection:
        """Meet the server and take its lease.

        A server that has served us before is given time to come back, and to find out that our old lease is over. One
        with another driver is given the time it takes to find out that a driver is gone.
        """
        loop = asyncio.get_running_loop()
        began, away = loop.time(), self._seconds if self._opened else 0.0
        while True:
            try:
                await self._meet(link)
                return await Connection.open(link, self._url, self._settings, self._seconds)
            except (EngineLost, Busy) as error:
                patience = max(BUSY_S, away) if isinstance(error, Busy) else away
                if loop.time() - began >= patience:
                    raise EngineUnfit(str(error)) from None
            await asyncio.sleep(POLL_S)

    def _known(self) -> wire.Hello:
        if self._hello is None:
            raise EngineError(f"engine {self._url}: not known yet (open it, or look at it)")
        return self._hello

    def _open(self) -> Connection:
        if self._connection is None:
            raise EngineLost(f"engine {self._url}: it is not open (enter it with `async with`)")
        return self._connection


class RemoteSeat:
    """One member's place in one server."""

    def __init__(self, connection: Connection, member: Member, codec: Codec) -> None:
        self._connection = connection
        self._member = member
        self._codec = codec

    async def generate(self, prompt: Sequence[int], sampling: Sampling) -> Completion:
        """See `aes.protocols.Seat`."""
        record = wire.Generate(member=self._member, prompt=tuple(prompt), sampling=sampling)
        reply = await self._connection.ask("generate", record, wire.Generated)
        return Completion(self._codec.decode(reply.token_ids), reply.token_ids, len(prompt), reply.finish_reason)


def _write(file: Path, data: bytes) -> None:
    try:
        file.write_bytes(data)
    except OSError as error:
        raise EngineError(f"{file}: cannot be written ({error.strerror})") from error
