"""HTTP to one server: records and bytes there and back, and what its refusals mean here."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Self, TypeVar

import aiohttp
from pydantic import ValidationError

from aes.engine.remote import wire
from aes.errors import AesError, CanaryFailed, EngineError, EngineLost, EngineUnfit, GenerationFailed

R = TypeVar("R", bound=wire.Record)

CONNECT_S = 10.0
"""Seconds to reach a server that is there."""

KEEP_ALIVE_S = 20.0
"""Seconds that an idle connection is kept; a server must keep it longer (see `aes.engine.remote.line`)."""

_MEANING: Mapping[wire.Kind, type[AesError]] = {
    "token": EngineUnfit,
    "call": EngineError,
    "busy": EngineUnfit,
    "unfit": EngineUnfit,
    "over": EngineLost,
    "lost": EngineLost,
    "generation": GenerationFailed,
    "canary": CanaryFailed,
    "engine": EngineError,
}


class Busy(EngineUnfit):
    """A server that has another driver, at the moment."""


class Broken(EngineLost):
    """A server that is out of reach, or a connection that broke."""


class Link:
    """One session with a server, in one event loop; as many requests at once as there are.

    Redirects and proxies are not followed: the token goes to the address that was given, and nowhere else.
    """

    def __init__(self, url: str, token: str) -> None:
        self._url = url
        self._root = url.rstrip("/") + wire.PREFIX
        self._headers = {"Authorization": f"Bearer {token}"}
        self._session: aiohttp.ClientSession | None = None
        self.lease = ""

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE_S),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._session is not None:
            await self._session.close()

    async def ask(self, call: str, record: wire.Record, answer: type[R], again: bool = False) -> R:
        """Send a record, and read what comes back. `again`: once more where a connection breaks, since no harm is done.

        Cancelling closes the connection, upon which the server gives the call up. Raises EngineLost where the server
        is out of reach, whatever its refusal means, and EngineError for an answer that is none.
        """
        body = record.model_dump_json().encode()
        try:
            data = await self._send("POST", call, body, wire.MAX_BODY)
        except Broken:
            if not again:
                raise
            data = await self._send("POST", call, body, wire.MAX_BODY)
        return self._read(data, call, answer)

    async def fetch(self, call: str, record: wire.Record | None, limit: int) -> bytes:
        """Bytes, `limit` at most; raises as `ask` does."""
        return await self._send("POST", call, record.model_dump_json().encode() if record else b"", limit)

    async def put(self, call: str, data: bytes) -> None:
        """Send bytes; raises as `ask` does."""
        await self._send("PUT", call, data, wire.MAX_BODY)

    async def hello(self) -> bytes:
        """What the server says that it is, unread; raises as `ask` does."""
        return await self._send("POST", "hello", b"", wire.MAX_BODY)

    async def _send(self, method: str, call: str, body: bytes, limit: int) -> bytes:
        if self._session is None or self._session.closed:
            raise EngineLost(f"engine {self._url}: it is closed")
        headers = self._headers | {wire.LEASE: self.lease}
        try:
            async with self._session.request(
                method, self._root + call, data=body, headers=headers, allow_redirects=False
            ) as response:
                data = await self._body(response, limit if response.status == 200 else wire.MAX_BODY)
        except (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError, TimeoutError) as error:
            raise Broken(f"engine {self._url}: {_reason(error)}") from None
        except (aiohttp.ClientError, ValueError) as error:
            raise EngineUnfit(f"engine {self._url}: not an address, or no HTTP there ({error})") from None
        if response.status != 200:
            raise self._refusal(response.status, data, call)
        return data

    async def _body(self, response: aiohttp.ClientResponse, limit: int) -> bytes:
        data = bytearray()
        async for part in response.content.iter_any():
            data += part
            if len(data) > limit:
                raise EngineError(f"engine {self._url}: an answer of more than {limit:,} bytes")
        return bytes(data)

    def _refusal(self, status: int, data: bytes, call: str) -> AesError:
        """What a status other than 200 means; one without a refusal of ours is a gateway's, or no server of ours."""
        try:
            refusal = wire.Refusal.model_validate_json(data)
        except ValidationError:
            if status in (502, 503, 504):
                return EngineLost(f"engine {self._url}: nothing behind the gateway (HTTP {status})")
            return EngineUnfit(
                f"engine {self._url}: no engine of aes there (HTTP {status} to {call}; start it with the line that"
                " `aes engine` prints)"
            )
        kind = Busy if refusal.error == "busy" else _MEANING[refusal.error]
        return kind(f"engine {self._url}: {refusal.message}")

    def _read(self, data: bytes, call: str, answer: type[R]) -> R:
        try:
            return answer.model_validate_json(data)
        except ValidationError as error:
            problem: Any = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, problem["loc"]))
            raise EngineError(f"engine {self._url}: no answer to {call} ({where}: {problem['msg']})") from None


def _reason(error: BaseException) -> str:
    if isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientConnectorSSLError):
        return f"no TLS that can be trusted ({error.os_error.strerror or error}; SSL_CERT_FILE names an authority)"
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"cannot be reached ({error.os_error.strerror or error})"
    if isinstance(error, asyncio.TimeoutError):
        return f"cannot be reached (no connection within {CONNECT_S:g} s)"
    return f"the connection to it was lost ({str(error) or type(error).__name__})"
