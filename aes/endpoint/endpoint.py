"""The endpoint of one run: a port on this machine that is opened when the first episode asks for its address.

policy.base_url -> admit: token -> Door -> policy
agent -> http://127.0.0.1:PORT/TOKEN/v1/chat/completions -> app -> door of the token -> policy.complete
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import socket
from typing import TYPE_CHECKING, Self
from weakref import WeakValueDictionary

from aes.endpoint.door import Door
from aes.errors import EngineError
from aes.protocols import Policy

if TYPE_CHECKING:
    from aiohttp import web

_LINGER_S = 1.0


class Endpoint:
    """Serves the episodes that are admitted, in the loop that it is entered in. Leaving it leaves no port and no task.

    It is bound to 127.0.0.1, and a token that nobody can guess stands for each episode.
    """

    def __init__(self) -> None:
        self._doors: WeakValueDictionary[str, Door] = WeakValueDictionary()
        self._socket: socket.socket | None = None
        self._port = 0
        self._serving: asyncio.Task[None] | None = None
        self._left = False

    async def __aenter__(self) -> Self:
        self._left = False
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Close the port, however often we are cancelled meanwhile. Raises what ended the serving, if anything did."""
        serving, self._serving, self._left = self._serving, None, True
        if serving is None or self._socket is None:
            return
        serving.cancel()
        cancelled: asyncio.CancelledError | None = None
        while not serving.done():
            try:
                await asyncio.wait([serving])
            except asyncio.CancelledError as error:
                cancelled = error
        self._socket.close()  # one that was cancelled before its first step has not
        if cancelled is not None:
            raise cancelled
        with contextlib.suppress(asyncio.CancelledError):
            serving.result()

    def admit(self, policy: Policy) -> Door:
        """A way in to a policy. Keep the door: it is open as long as somebody does, and does not close it.

        In the loop's thread. Opens the port if it is not open yet. Raises EngineError once the endpoint has been
        left, OSError where there is no port to be had.
        """
        if self._left:
            raise EngineError("policy.base_url: the run is over (ask for it while an episode is played)")
        if self._serving is None:
            self._socket = socket.create_server(("127.0.0.1", 0), backlog=1024)
            self._port = self._socket.getsockname()[1]
            self._serving = asyncio.get_running_loop().create_task(self._serve(self._socket), name="endpoint")
        door = Door(policy, secrets.token_urlsafe(24), self._port)
        self._doors[door.token] = door
        return door

    def door(self, token: str) -> Door | None:
        """The door of a token, while it is open."""
        door = self._doors.get(token)
        return None if door is None or door.closed else door

    async def _serve(self, listening: socket.socket) -> None:
        """Serve until cancelled. Requests that come before aiohttp is loaded wait in the port."""
        with listening:
            runner = await asyncio.to_thread(_runner, self)
            await runner.setup()
            try:
                await _site(runner, listening).start()
                await asyncio.Event().wait()
            finally:
                await runner.cleanup()


def _runner(endpoint: Endpoint) -> web.AppRunner:
    """Load and make the application; what is slow about it is done here, in a thread."""
    from aiohttp import web

    from aes.endpoint.app import make_app

    return web.AppRunner(
        make_app(endpoint.door), access_log=None, handler_cancellation=True, shutdown_timeout=_LINGER_S
    )


def _site(runner: web.AppRunner, listening: socket.socket) -> web.SockSite:
    from aiohttp import web

    return web.SockSite(runner, listening)
