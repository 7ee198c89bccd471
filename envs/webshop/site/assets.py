"""The files that come with the package: style, icon, the API's description."""

from __future__ import annotations

from importlib.resources import files

from aiohttp import web

_FOLDER = files(__package__)
_TYPES = {"style.css": "text/css", "icon.svg": "image/svg+xml"}


async def static(request: web.Request) -> web.Response:
    """Serve the style sheet or the icon."""
    name = request.match_info["file"]
    if name not in _TYPES:
        raise web.HTTPNotFound
    return web.Response(body=_FOLDER.joinpath("static", name).read_bytes(), content_type=_TYPES[name], charset="utf-8")


async def openapi(_: web.Request) -> web.Response:
    """Serve the description of the API."""
    return web.Response(body=_FOLDER.joinpath("openapi.json").read_bytes(), content_type="application/json")
