"""Servers of this process that speak the wire around fake engines: aiohttp in vLLM's place, and our own door."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import torch
from aiohttp import web
from safetensors.torch import save_file

from aes import Lora, snapshot
from aes.engine.fake import FakeEngine, TextCodec
from aes.engine.model import BaseModel
from aes.engine.remote import wire
from aes.engine.remote.client import RemoteEngine
from aes.engine.remote.door import Door
from aes.engine.vllm import space_of
from aes.lora import LoraSpace

TOKEN = "a-token-of-some-length"
MODEL = BaseModel(
    "fake", {"model.layers.0.mlp.down_proj": (8, 64), "model.layers.0.mlp.up_proj": (64, 8)}, 1024, 1 << 20, "float32",
    "digest",
)  # fmt: skip
LORA = Lora(rank=4, targets=("down_proj",))
BASIS = {"model.layers.0.mlp.down_proj": torch.eye(4, 8)}


class Elsewhere(FakeEngine):
    """A fake engine that writes adapters as PEFT does, and A where it has observed."""

    def __init__(self, space: LoraSpace, observing: bool, **options: Any) -> None:
        super().__init__(dim=space.dim, **options)
        self.wants_observation = observing
        self.space = space
        self.seen = False

    def pause(self) -> None:
        """Answer nothing for a while."""
        self._answering.clear()

    def go_on(self) -> None:
        self._answering.set()

    async def observe(self, on: bool) -> None:
        self.seen = self.seen or on

    async def start(self, seed: int, sigma: float, basis: Path, run: str = "") -> tuple[str, int]:
        if self.wants_observation and not basis.exists():  # noqa: ASYNC240
            assert self.seen
            save_file(BASIS, basis)
        return await super().start(seed, sigma, basis, run)

    async def export(self, version: int, folder: Path, run: str = "") -> None:
        snapshot.write(folder, self.space, self._centre(run).vector(version), BASIS, "path/of/the/server")


class FakeHost:
    """Makes fake engines; `changes` are what it says of itself that is not so."""

    def __init__(self, latency: Callable[..., float] | None = None, slots: int = 4, **changes: Any) -> None:
        self.latency = latency
        self.slots = slots
        self.changes = changes
        self.engines: list[Elsewhere] = []

    @property
    def last(self) -> Elsewhere:
        return self.engines[-1]

    async def hello(self, guest: str) -> wire.Hello:
        said: dict[str, Any] = {
            "wire": wire.WIRE, "extension": wire.extension(), "vllm": "0", "torch": "0", "model": MODEL.name,
            "model_digest": MODEL.digest, "dtype": "float32", "asked": "auto", "device": "cpu",
            "context": FakeEngine.context, "slots": self.slots, "rank": 8, "modules": ("down_proj",), "eager": True,
            "problem": "", "guest": guest,
        }  # fmt: skip
        return wire.Hello(**said | self.changes)

    def space(self, lora: Lora) -> LoraSpace:
        return space_of(MODEL, lora)

    def engine(self, lora: Lora) -> Elsewhere:
        observing = lora.basis == "activations"
        self.engines.append(Elsewhere(self.space(lora), observing, slots=self.slots, latency=self.latency))
        return self.last

    async def ping(self) -> None:
        async with self.last.working():
            pass


class Serving:
    """One server on loopback. Entered again after it was killed, it is another process at the same address."""

    def __init__(self, host: FakeHost | None = None, token: str | None = TOKEN) -> None:
        self.host = host or FakeHost()
        self.port = 0
        self._token = token
        self._door: Door | None = None
        self._runner: web.ServerRunner | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def holds(self) -> int:
        """Presences of the driver that are being answered."""
        desk = self._door._desk if self._door is not None else None
        return desk._lease.holds if desk is not None and desk._lease is not None else 0

    def engine(self, lora: Lora = LORA, token: str = TOKEN, **options: Any) -> RemoteEngine:
        return RemoteEngine(self.url, MODEL, lora, token, codec=TextCodec(), **options)

    async def __aenter__(self) -> Self:
        self._door = door = Door(nothing, self.host, self._token)
        server = web.Server(lambda request: bridge(door, request), handler_cancellation=True)
        self._runner = web.ServerRunner(server, shutdown_timeout=0)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True, backlog=1024).start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.kill()

    async def kill(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None


async def until(condition: Callable[[], bool]) -> None:
    """Let the loop go round until something is so."""
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(0)


async def nothing(scope: Any, receive: Any, send: Any) -> None:
    """What stands behind the door: vLLM's own app, where there is one."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"vLLM"})


async def bridge(door: Door, request: web.BaseRequest) -> web.StreamResponse:
    """One request of aiohttp as ASGI has it."""
    events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    events.put_nowait({"type": "http.request", "body": await request.read(), "more_body": False})
    answer: dict[str, Any] = {}

    async def send(message: Any) -> None:
        answer.update(message)

    scope = {
        "type": "http", "method": request.method, "path": request.path, "headers": list(request.raw_headers),
    }  # fmt: skip
    asking = asyncio.ensure_future(door(scope, events.get, send))
    try:
        await asyncio.shield(asking)
    except asyncio.CancelledError:
        events.put_nowait({"type": "http.disconnect"})
        await asking
        raise
    if not answer:  # the door found that nobody is there
        raise ConnectionResetError
    return web.Response(status=answer["status"], body=answer["body"])
