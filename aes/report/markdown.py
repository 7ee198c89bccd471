"""A report as Markdown, with its pictures as files beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote

from aes.report.content import Content, Table


def markdown(content: Content, stem: str) -> str:
    """The report's Markdown; pictures are named `STEM-NAME.png`."""
    return "\n".join(_lines(content, stem))


def picture_name(stem: str, name: str) -> str:
    """The file of a picture."""
    return f"{stem}-{name}.png"


def _lines(content: Content, stem: str) -> Iterator[str]:
    yield f"# {_safe(content.title)}"
    for sentence in content.summary:
        yield f"\n{_safe(sentence)}"
    for picture in content.pictures:
        address = quote(picture_name(stem, picture.name), errors="replace")
        yield f"\n## {picture.title}\n\n{picture.caption}\n\n![{picture.title}]({address})"
    for table in content.tables:
        yield f"\n## {table.title}\n\n{table.note}\n"
        yield from _table(table)
    yield "\n## How to read this\n"
    for sentence in content.reading:
        yield f"- {sentence}"
    yield "\n## What was run\n"
    for name, value in content.facts:
        yield f"- **{name}**: {_safe(value)}"
    yield ""


def _table(table: Table) -> Iterator[str]:
    yield _row(table.columns)
    yield "|" + "---|" * len(table.columns)
    for row in table.rows:
        yield _row(row)


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(map(_safe, cells))} |"


def _safe(text: str) -> str:
    """Text in which nothing is markup: what a folder or a task is called must not become a link or a tag."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", " ".join(text.split()))
