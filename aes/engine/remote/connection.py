"""One lease of one server, from its driver's side. It lives once: whoever needs the server again asks for another."""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

from aes.config import Lora
from aes.engine.life import Life
from aes.engine.remote import wire
from aes.engine.remote.link import Link
from aes.errors import EngineError, EngineLost, EngineUnfit

R = TypeVar("R", bound=wire.Record)

PARTS = 10
"""Parts of the time after which a server that does not answer is taken for dead."""

CLOSE_S = 5.0


class Connection:
    """The lease and what holds it; `open` makes one.

    A connection that breaks, or a server that leaves its driver's presence unanswered for `seconds`, ends its life:
    whoever waits for an answer, or asks anything later, gets EngineLost.
    """

    def __init__(self, link: Link, url: str, lease: str, seconds: float) -> None:
        self._link = link
        self._url = url
        self._life = Life(url)
        self._seconds = seconds
        link.lease = lease
        self._holding = asyncio.create_task(self._hold(), name=f"heartbeat {url}")

    @classmethod
    async def open(cls, link: Link, url: str, lora: Lora, seconds: float) -> Connection:
        """Ask for the lease. Raises Busy where another driver has it, EngineLost, EngineUnfit."""
        driver = f"{platform.node() or 'a machine'}, process {os.getpid()}"[:200]
        try:
            async with asyncio.timeout(seconds):
                opened = await link.ask("open", wire.Open(driver=driver, lora=lora), wire.Opened)
        except TimeoutError:
            raise EngineLost(f"engine {url}: no answer for {seconds:g} s (engine_seconds)") from None
        return cls(link, url, opened.lease, seconds)

    async def lost(self) -> str:
        """Wait for the end of its life; the reason."""
        return await self._life.ended()

    async def ask(self, call: str, record: wire.Record, answer: type[R], again: bool = True) -> R:
        """See `Link.ask`; but what ends the connection is EngineLost, for everybody."""
        async with self._calling():
            return await self._link.ask(call, record, answer, again)

    async def fetch(self, call: str, record: wire.Record, limit: int) -> bytes:
        """See `Link.fetch`."""
        async with self._calling():
            return await self._link.fetch(call, record, limit)

    async def put(self, call: str, data: bytes) -> None:
        """See `Link.put`."""
        async with self._calling():
            await self._link.put(call, data)

    async def close(self) -> None:
        """Give the lease back, if there is still somebody to take it, and close all connections."""
        over = self._life.over
        self._life.end("it is closed")
        try:
            if not over:
                with suppress(EngineError, TimeoutError):
                    async with asyncio.timeout(CLOSE_S):
                        await self._link.ask("close", wire.Done(), wire.Done)
        finally:
            self._holding.cancel()
            await asyncio.wait([self._holding])
            await self._link.__aexit__()

    async def _hold(self) -> None:
        """Be present, for ever; end the life when that is not answered, or refused.

        A question is not given up while it may still be answered: that would close the connection, and with it the
        lease. Time is taken in parts, so that a long one in which our own event loop stood still counts no more than a
        short.
        """
        part = self._seconds / PARTS
        record = wire.Hold(seconds=min(wire.HOLD_S, part))
        answered = True
        while answered:
            asking = asyncio.create_task(self._link.ask("hold", record, wire.Done, again=True))
            try:
                for _ in range(PARTS + 1):
                    answered = bool((await asyncio.wait([asking], timeout=part))[0])
                    if answered:
                        await asking
                        break
            except EngineError as error:
                self._end(error)
                return
            finally:
                asking.cancel()
                await asyncio.wait([asking])
        self._life.end(f"no answer for {self._seconds:g} s (engine_seconds)")

    @asynccontextmanager
    async def _calling(self) -> AsyncIterator[None]:
        async with self._life.living():
            try:
                yield
            except (EngineLost, EngineUnfit) as error:
                self._end(error)
                self._life.check()

    def _end(self, error: EngineError) -> None:
        self._life.end(str(error).removeprefix(f"engine {self._url}: "))
