"""`aes serve`: the shop over HTTP, for people in a browser and for agents in other processes or languages."""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import logging
import socket
import sys

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from aes.errors import ConfigError
from cli import assemble, signals
from cli.errors import Interrupted
from cli.settings import TrainSettings
from envs.webshop.site import make_app
from envs.webshop.site.guard import LOOPBACK

_CLOSING_S = 3.0


def serve(settings: TrainSettings, host: str, port: int) -> None:
    """Serve until told to stop, which is the good end. Raises ConfigError, DataError before anything is served."""
    with _bound(host, port) as listener:  # before the catalogue is loaded, which may take minutes
        _say("loading the catalogue")
        catalog, kind, local = assemble.open_catalog(settings), settings.goal_kind, _is_loopback(host)
        app = make_app(catalog, kind=kind, hosts=(*LOOPBACK, host) if local else None)
        gc.freeze()  # a collection that walks through a large catalogue would hold up requests
        _say(f"{len(catalog.products):,} products, {len(catalog.goals(kind, 'all')):,} {kind} goals")
        if not local:
            warning = f"warning: --host {host}: whoever reaches this machine can use the shop; there is no login"
            print(warning, file=sys.stderr, flush=True)
        try:
            signals.run(lambda _: _serve(app, listener, host), lambda _: _say("stopping: answering open requests"))
        except Interrupted:
            _say("stopped")


async def _serve(app: web.Application, listener: socket.socket, host: str) -> None:
    """Answer requests until cancelled; then those begun are finished, for a few seconds at most."""
    runner = web.AppRunner(app, access_log=None, logger=_server_log(), shutdown_timeout=_CLOSING_S)
    await runner.setup()
    try:
        await web.SockSite(runner, listener).start()
        address = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
        _say(f"shop: {address}/")
        _say(f"API:  {address}/api/v1/openapi.json")
        _say("Ctrl-C ends it")
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


def _server_log() -> logging.Logger:
    """Where the server complains: to standard error, but without a traceback for each request that is not HTTP."""
    log = logging.getLogger("aes.serve")
    log.addFilter(lambda record: not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError)))
    return log


def _bound(host: str, port: int) -> socket.socket:
    """Take the port. Raises ConfigError when that cannot be."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (socket.gaierror, UnicodeError):
        raise ConfigError(f"--host {host}: no such host (127.0.0.1 for this machine alone)") from None
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen()  # a browser that is early waits for the catalogue
    except OSError as error:
        listener.close()
        raise ConfigError(f"--host {host} --port {port}: {error.strerror} (--port 0 takes any free port)") from None
    return listener


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _say(line: str) -> None:
    print(line, flush=True)
