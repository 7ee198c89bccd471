"""HTML from templates: everything that is put into one is escaped."""

from __future__ import annotations

from typing import Any
from zlib import crc32

from aiohttp import web
from jinja2 import Environment, PackageLoader, StrictUndefined

from envs.webshop.site.keys import TEMPLATES

_TINTS = 6


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
    templates.filters["tint"] = _tint
    return templates


def page(request: web.Request, template: str, *, status: int = 200, **values: Any) -> web.Response:
    """Fill in a template; `url` in it makes the address of a route by its name."""
    html = request.app[TEMPLATES].get_template(template).render(values, url=_urls(request))
    # A catalogue may hold halves of surrogate pairs, which no encoding has.
    return web.Response(body=html.encode("utf-8", "replace"), content_type="text/html", charset="utf-8", status=status)


def _tint(asin: str) -> int:
    """Pick one of the style sheet's tints for a product, always the same."""
    return crc32(asin.encode("utf-8", "replace")) % _TINTS


def _urls(request: web.Request) -> Any:
    def url(name: str, **parts: str) -> str:
        return str(request.app.router[name].url_for(**parts))

    return url
