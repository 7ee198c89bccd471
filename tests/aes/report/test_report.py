"""The page and the Markdown: whole, alone, escaped, the same every time."""

from __future__ import annotations

import base64
import importlib.util
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import pytest

from aes.errors import ConfigError, UsageError
from aes.report import write_report
from aes.report.figures import figures
from aes.report.read import read

PICTURES = ("curves", "differences", "heat-map", "lags")


@pytest.fixture(scope="module")
def written(studied: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_report(studied, tmp_path_factory.mktemp("written") / "deeper" / "study.html")


class Parsed(HTMLParser):
    """Tags that must be closed, and all addresses."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_report_is_a_page_its_markdown_and_its_pictures(written: list[Path]) -> None:
    assert [path.name for path in written] == [
        *("study.html", "study.md"),
        *(f"study-{name}.png" for name in PICTURES),
    ]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in written[2:])


def test_the_page_needs_nothing_else(written: list[Path]) -> None:
    page = Parsed(written[0].read_text())
    assert page.open == []
    assert len(page.addresses) == len(PICTURES)
    for address in page.addresses:
        kind, _, data = address.partition(";base64,")
        assert kind == "data:image/svg+xml"
        assert ET.fromstring(base64.b64decode(data)).tag.endswith("svg")


def test_both_forms_hold_every_figure_of_every_arm(studied: Path, written: list[Path]) -> None:
    page, markdown = written[0].read_text(), written[1].read_text()
    for found in figures(read(studied)):
        for text in (page, markdown):
            assert found.arm.label in text
            assert f"{found.final.mean:.3f}" in text
            assert f"{found.final.low:.3f} to {found.final.high:.3f}" in text
            assert f"{found.stale:.0%}" in text
            if found.difference:
                assert f"{found.difference.mean:+.3f}" in text
    for name in PICTURES:
        assert f"](study-{name}.png)" in markdown


def test_a_name_is_never_markup(written: list[Path]) -> None:
    assert "<b>" not in written[0].read_text()
    assert "&lt;b&gt;study &amp; more" in written[0].read_text()
    assert r"# Study \<b\>study & more" in written[1].read_text()


def test_the_same_study_gives_the_same_bytes(studied: Path, written: list[Path], tmp_path: Path) -> None:
    again = write_report(studied, tmp_path / "study.html")
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in written]


def test_a_lone_run_is_reported_in_its_folder(studied: Path, tmp_path: Path) -> None:
    run = studied / "arms" / "lag-2-frac-1" / "s0"
    written = write_report(run, tmp_path / "run.html")
    assert [path.name for path in written] == ["run.html", "run.md", "run-curves.png", "run-lags.png"]
    text = written[1].read_text()
    assert "against synchronous" not in text
    assert "lag 2, 100% stale" in text
    assert "over one seed" in text


def test_tables_have_as_many_cells_as_columns(written: list[Path]) -> None:
    for table in re.findall(r"(?:^\|.*\n)+", written[1].read_text(), re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1


def test_no_matplotlib_is_one_line_with_the_cure(
    studied: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(UsageError, match=r"matplotlib is not installed \(pip install 'aes-runtime\[report\]'\)"):
        write_report(studied, tmp_path / "report.html")
    assert not list(tmp_path.iterdir())


def test_where_no_report_can_be(studied: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"must end in \.html"):
        write_report(studied, tmp_path / "report.pdf")
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="choose another --to"):
        write_report(studied / "arms" / "sync" / "s0", tmp_path / "file" / "report.html")
