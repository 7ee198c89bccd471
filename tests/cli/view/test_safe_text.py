from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from cli.view.safe_text import line, safe


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain [bold]text[/bold] :smile:", "plain [bold]text[/bold] :smile:"),
        ("\x1b[31mred\x1b[0m", "[31mred[0m"),
        ("\x1b]0;title\x07\x9b2J", "]0;title2J"),
        ("one\r\ntwo\tthree\x0bfour\u2028five\xa0six", "one  two three four five six"),
        ("\u202eevil\u202c \u2066x\u2069 \u200b\ufeff\xad", "evil x "),
        ("half \ud800 private \ue000", "half  private "),
        ("e\u0301" + "\u0301" * 500, "e" + "\u0301" * 4),
        ("größe 寸法 👕", "größe 寸法 👕"),
    ],
)
def test_what_remains(text: str, shown: str) -> None:
    assert safe(text) == shown


@given(st.text())
def test_nothing_remains_that_does_more_than_show(text: str) -> None:
    shown = safe(text)
    assert not {unicodedata.category(char) for char in shown} & {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
    assert safe(shown) == shown
    shown.encode()


def test_a_line_keeps_its_margin_where_it_is_broken_and_knows_no_markup() -> None:
    console = Console(width=12, color_system=None)
    with console.capture() as capture:
        console.print(line(("one two: ", "red"), "[b]three[/b]\x1b[2J"))
    assert [row.rstrip() for row in capture.get().splitlines()] == [" one two:", " [b]three[/b", " ][2J"]
