"""One life of an engine, from its opening until it is closed, dies or hangs; whoever waits for an answer is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aes.errors import EngineLost


class Life:
    """Ends once, with a reason; what is waited for inside `living` is then given up."""

    def __init__(self, device: str) -> None:
        self._device = device
        self._reason: str | None = None
        self._over = asyncio.Event()
        self._scopes: set[asyncio.Timeout] = set()

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self._reason is not None

    def end(self, reason: str) -> None:
        """End it; only the first reason counts. In the loop's thread."""
        if self._reason is None:
            self._reason = reason
            self._over.set()
            for scope in self._scopes:
                scope.reschedule(asyncio.get_running_loop().time())

    async def ended(self) -> str:
        """Wait for the end; its reason."""
        await self._over.wait()
        return self._reason or ""

    def check(self) -> None:
        """Raise EngineLost when it is over."""
        if self._reason is not None:
            raise EngineLost(f"engine {self._device}: {self._reason}")

    @asynccontextmanager
    async def living(self) -> AsyncIterator[None]:
        """What is awaited inside is cancelled when the life ends, and EngineLost raised in its place."""
        self.check()
        try:
            async with asyncio.timeout(None) as scope:
                self._scopes.add(scope)
                try:
                    yield
                finally:
                    self._scopes.discard(scope)
        except TimeoutError:
            if scope.expired():
                self.check()
            raise
