"""Writes a report: the page, the Markdown, and the pictures beside it."""

from __future__ import annotations

from pathlib import Path

from aes.errors import ConfigError
from aes.report.content import content
from aes.report.figures import figures
from aes.report.markdown import markdown, picture_name
from aes.report.page import page
from aes.report.pictures import pictures
from aes.report.read import read

NAME = "report.html"


def write_report(source: Path, to: Path | None = None) -> list[Path]:
    """Report on a run or a study, to `to` (None: report.html in its folder); the files, the page first.

    Reads and draws for seconds, and blocks meanwhile. A report that was there is replaced. Raises DataError for what is
    neither a run nor a study or is broken, ConfigError where a file cannot be written, UsageError where matplotlib is
    not installed.
    """
    html = to or source / NAME
    if html.suffix != ".html":
        raise ConfigError(f"report {html}: the page's name must end in .html (its Markdown is written beside it)")
    material = read(source)
    arms = figures(material)
    drawn = pictures(arms)
    whole = content(material, arms, drawn)
    files: dict[Path, bytes] = {
        html: page(whole).encode("utf-8", "replace"),
        html.with_suffix(".md"): markdown(whole, html.stem).encode("utf-8", "replace"),
        **{html.with_name(picture_name(html.stem, picture.name)): picture.png for picture in drawn},
    }
    try:
        html.parent.mkdir(parents=True, exist_ok=True)
        for path, content_ in files.items():
            path.write_bytes(content_)
    except OSError as error:
        raise ConfigError(f"report {html}: cannot be written ({error.strerror}; choose another --to)") from None
    return list(files)
