"""Who may talk to the server, and what browsers are told about its answers.

There is no login: who can connect may shop. Two things keep other sites' pages, opened in a browser on a machine that
can connect, from shopping along: requests addressed to a name that is not ours are refused (DNS rebinding), and so are
changes that a browser says come from another origin.
"""

from __future__ import annotations

from collections.abc import Collection

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from yarl import URL

from envs.webshop.site.refusal import Refusal

LOOPBACK = ("localhost", "127.0.0.1", "::1")
"""The names of this machine to itself."""

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none';"
        " frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    # Not no-referrer: under that one browsers hide the origin of our own forms from us.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""No script, no frames, nothing from elsewhere, nothing kept."""


async def harden(_: web.Request, response: web.StreamResponse) -> None:
    """Put the security headers on a response."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)


def check_sender(hosts: Collection[str] | None) -> Middleware:
    """Refuse requests to other hosts than these (None: any), and changes from other origins."""
    ours = None if hosts is None else frozenset(host.lower() for host in hosts)

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        host = _parsed(f"http://{request.host}")
        if ours is not None and (host is None or host.host not in ours):
            message = f"this shop is not at {request.host[:80]!r}; use {', '.join(sorted(ours))}"
            raise Refusal(403, "foreign_host", message)
        origin = request.headers.get("Origin")
        if origin is not None and request.method not in ("GET", "HEAD"):
            sender = _parsed(origin)
            if sender is None or host is None or sender.authority != host.authority:
                raise Refusal(403, "foreign_origin", f"refused: sent by a page of {origin[:80]!r}, not of this shop")
        return await handler(request)

    return check


def _parsed(url: str) -> URL | None:
    try:
        parsed = URL(url)
        return parsed if parsed.authority else None
    except ValueError:
        return None
