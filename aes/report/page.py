"""A report as one HTML page that needs nothing else: pictures are in it, and everything is escaped."""

from __future__ import annotations

import base64
import re

from jinja2 import Environment, PackageLoader, StrictUndefined

from aes.report.content import Content
from aes.report.pictures import Picture

_POINTS_PER_REM = 12.0


def page(content: Content) -> str:
    """The page's HTML."""
    templates = Environment(
        loader=PackageLoader("aes.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters.update(source=_source, width=_width, figure=_figure, rest=_rest)
    return templates.get_template("page.html").render(content=content)


def _figure(cell: str) -> str:
    """What stands before a cell's brackets: the figure itself."""
    return cell.partition(" (")[0]


def _rest(cell: str) -> str:
    """What stands in them and after: its interval, to be printed smaller."""
    return cell.partition(" (")[2].replace(")", "")


def _source(picture: Picture) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(picture.svg.encode()).decode()}"


def _width(picture: Picture) -> str:
    """No larger than it was drawn, give or take, so that letters have one size in all pictures."""
    found = re.search(r'<svg[^>]* width="([\d.]+)pt"', picture.svg)
    points = float(found[1]) if found else 0.0
    return f"{points / _POINTS_PER_REM * 1.15:.1f}rem" if points else "100%"
