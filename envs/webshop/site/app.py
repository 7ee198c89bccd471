"""The server as one aiohttp application: every route, what guards them, and what they share.

request -> guard: is it meant for us, does it come from us? -> handler: pages (people) or api (programs)
           guard: every error a page or JSON <-                 `-> Sessions -> Session -> TextShop
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

from aiohttp import web

from envs.webshop.catalog.catalog import Catalog
from envs.webshop.catalog.goals import GoalKind
from envs.webshop.site import api, assets, pages
from envs.webshop.site.failures import explain_errors
from envs.webshop.site.guard import LOOPBACK, check_sender, harden
from envs.webshop.site.keys import SESSIONS, TEMPLATES
from envs.webshop.site.rendering import open_templates
from envs.webshop.site.requests import MAX_BODY
from envs.webshop.site.sessions import IDLE_S, MAX_SESSIONS, Sessions

ROUTES = (
    web.get("/", pages.start, name="start"),
    web.post("/sessions", pages.begin, name="begin"),
    web.get("/sessions/{session}", pages.show, name="session"),
    web.post("/sessions/{session}", pages.act),
    web.get("/static/{file}", assets.static, name="static"),
    web.get("/api/v1/health", api.health, name="health"),
    web.get("/api/v1/openapi.json", assets.openapi, name="openapi"),
    web.post("/api/v1/sessions", api.create, name="api"),
    web.get("/api/v1/sessions/{session}", api.observe),
    web.delete("/api/v1/sessions/{session}", api.close),
    web.post("/api/v1/sessions/{session}/actions", api.act),
)


def make_app(
    catalog: Catalog,
    *,
    kind: GoalKind = "synthetic",
    hosts: Collection[str] | None = LOOPBACK,
    max_sessions: int = MAX_SESSIONS,
    idle_s: float = IDLE_S,
    clock: Callable[[], float] = time.monotonic,
) -> web.Application:
    """Make the shop's site and API, to be run by itself or mounted in another application with `add_subapp`.

    `hosts` are the names under which the server may be addressed, None for any: where only this machine can connect,
    the default keeps other sites' pages out (DNS rebinding). Sessions end after `idle_s` seconds without a request of
    `clock`, or when `max_sessions` newer ones are in use.
    Builds whatever of the catalogue is still to be built, which may take long: call it before the event loop runs.
    Mounted in another application, that one's `client_max_size` holds. Raises DataError when there are no such goals.

    Example:
        web.run_app(make_app(Catalog.generate()), host="127.0.0.1", port=3000)
    """
    app = web.Application(middlewares=(explain_errors, check_sender(hosts)), client_max_size=MAX_BODY)
    app[SESSIONS] = Sessions(catalog, kind=kind, capacity=max_sessions, idle_s=idle_s, clock=clock)
    app[TEMPLATES] = open_templates()
    app.on_response_prepare.append(harden)
    app.add_routes(ROUTES)
    return app
