"""The door of a server: `vllm serve --middleware aes.engine.remote.door.Door`.

Nobody comes in without the token, neither to our calls (`/aes/...`) nor to vLLM's own, save to ask after its health. A
call whose caller goes away is given up.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from pydantic import ValidationError

from aes.engine.remote import secret, wire
from aes.engine.remote.desk import Desk, Host, Taken
from aes.errors import CanaryFailed, ConfigError, EngineLost, GenerationFailed, UsageError

log = logging.getLogger(__name__)

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

OPEN = frozenset({"/health", "/ping"})
"""What anybody may ask: the probes of whatever runs the server."""

_LONGEST = 1000


class Gone(Exception):
    """Whoever called has gone away."""


class Refused(Exception):
    """What is answered in place of an answer."""

    def __init__(self, status: int, kind: wire.Kind, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind


class Door:
    """ASGI middleware around vLLM's own app, whose engine client it gives to the host."""

    def __init__(self, app: App, host: Host | None = None, token: str | None = None) -> None:
        """`host` is vLLM's where it is None; `token` that of the environment."""
        self._app = app
        self._desk = Desk(host) if host is not None else None
        self._wrong = ""
        wire.extension()  # now: what runs is what the sources are at the start
        try:
            self._token = _digest(token if token is not None else secret.read())
        except ConfigError as error:
            self._wrong = f"this server has no token, and lets nobody in: {error}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let in, answer or turn away."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        path = str(scope["path"]).removeprefix(scope.get("root_path") or "")
        if path not in OPEN and (refused := self._stranger(scope)) is not None:
            await _refuse(refused, scope, send)
        elif scope["type"] == "http" and path.startswith(wire.PREFIX):
            await self._answer(path.removeprefix(wire.PREFIX), scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _stranger(self, scope: Scope) -> Refused | None:
        if self._wrong:
            return Refused(503, "token", self._wrong)
        scheme, _, token = _header(scope, "authorization").partition(" ")
        if not token:
            return Refused(401, "token", "it wants a token (set AES_TOKEN or --token-file to that of the server)")
        if scheme.lower() != "bearer" or not hmac.compare_digest(_digest(token), self._token):
            return Refused(401, "token", "it has another token (set AES_TOKEN or --token-file to that of the server)")
        return None

    async def _answer(self, call: str, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            data = await self._do(call, scope, receive)
        except Gone:
            return
        except Refused as refused:
            await _refuse(refused, scope, send)
        else:
            await _send(send, 200, data)

    async def _do(self, call: str, scope: Scope, receive: Receive) -> bytes:
        desk = self._desk = self._desk or _vllm_desk(scope["app"].state)
        method, lease = str(scope["method"]), _header(scope, wire.LEASE)
        body = await _body(receive, desk.longest(method, call, lease))
        try:
            return await _while_there(receive, desk.answer(method, call, lease, body))
        except Gone:
            raise
        except Exception as error:
            raise _meaning(error, call) from error


def _meaning(error: Exception, call: str) -> Refused:
    """How an error is told to the driver."""
    if isinstance(error, ValidationError):
        problem: Any = error.errors(include_url=False, include_input=False)[0]
        return Refused(400, "call", f"{call}: {'.'.join(map(str, problem['loc']))}: {problem['msg']}"[:_LONGEST])
    if isinstance(error, LookupError):
        return Refused(404, "call", f"no such call: {call[:50]!r}")
    message = " ".join(str(error).split())[:_LONGEST]
    kinds: tuple[tuple[type[Exception], int, wire.Kind], ...] = (
        (Taken, 409, "busy"),
        (GenerationFailed, 422, "generation"),
        (EngineLost, 410, "over"),
        (CanaryFailed, 422, "canary"),
        (UsageError, 422, "unfit"),
    )
    for kind, status, name in kinds:
        if isinstance(error, kind):
            return Refused(status, name, message)
    log.error("a call to %s failed", call, exc_info=error)
    return Refused(500, "engine", message or type(error).__name__)


async def _while_there(receive: Receive, work: Awaitable[bytes]) -> bytes:
    """What the work gives, unless the caller goes away; it is cancelled then, and Gone raised."""
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(_leave(receive))
    try:
        await asyncio.wait([working, leaving], return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise Gone
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.wait([working, leaving])


async def _leave(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _body(receive: Receive, longest: int) -> bytes:
    data = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        data += message.get("body", b"")
        if len(data) > longest:
            raise Refused(413, "call", f"a body of more than {longest:,} bytes")
        if not message.get("more_body", False):
            return bytes(data)


async def _refuse(refused: Refused, scope: Scope, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": ""})
        return
    record = wire.Refusal(error=refused.kind, message=str(refused))
    await _send(send, refused.status, record.model_dump_json().encode())


async def _send(send: Send, status: int, data: bytes) -> None:
    headers = [(b"content-length", str(len(data)).encode()), (b"cache-control", b"no-store")]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": data})


def _header(scope: Scope, name: str) -> str:
    values = [value for key, value in scope["headers"] if key.lower() == name.encode()]
    return values[0].decode("latin-1") if len(values) == 1 else ""


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def _vllm_desk(state: Any) -> Desk:
    from aes.engine.remote.host import VllmHost

    return Desk(VllmHost(state.engine_client, state.args))
