"""HTML from templates: everything that is put into one is escaped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from zlib import crc32

from aiohttp import web
from jinja2 import Environment, PackageLoader, StrictUndefined

from envs.webshop.site.keys import TEMPLATES


def open_templates() -> Environment:
    """Open the templates that come with the package."""
    templates = Environment(
        loader=PackageLoader("envs.webshop.site"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    templates.filters["variety"] = _variety
    for name in templates.list_templates():
        templates.get_template(name)  # compiled now, not at somebody's first request
    return templates


def page(request: web.Request, template: str, *, status: int = 200, **values: Any) -> web.Response:
    """Fill in a template; `url` in it makes the address of a route by its name."""
    html = request.app[TEMPLATES].get_template(template).render(values, url=_urls(request))
    # A catalogue may hold halves of surrogate pairs, which no encoding has.
    return web.Response(body=html.encode("utf-8", "replace"), content_type="text/html", charset="utf-8", status=status)


def _variety(asin: str) -> int:
    """Give a product a number by which to draw it, always the same."""
    return crc32(asin.encode("utf-8", "replace"))


def _urls(request: web.Request) -> Callable[..., str]:
    def url(route: str, **parts: str) -> str:
        return str(request.app.router[route].url_for(**parts))

    return url
