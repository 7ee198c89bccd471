from __future__ import annotations

import pytest

from envs.webshop.catalog.elements import RICH, TEXT, Element, Kind


def test_two_ways_to_write() -> None:
    page = [Element(" a "), Element("Go", Kind.BUTTON), Element("8", Kind.OPTION), Element("B1", Kind.LINK)]
    page += [Element("9", Kind.CLICKED_OPTION), Element("B2", Kind.CLICKED_LINK)]
    assert TEXT.write(page) == "a [SEP] Go [SEP] 8 [SEP] B1 [SEP] 9 [SEP] B2"
    assert RICH.write(page) == (
        " a \n[button] Go [button_]\n  [button] 8 [button_]\n\n[button] B1 [button_]\n"
        "  [clicked button] 9 [clicked button_]\n\n[clicked button] B2 [clicked button_]\n"
    )


# Found with Jinja's escaping and BeautifulSoup 4.15 on html.parser, the way the original goes.
@pytest.mark.parametrize(
    ("text", "plain", "rich"),
    [
        ("", "| [SEP] |", "|\n|\n"),
        (" \t\f\r ", "| [SEP]  [SEP] |", "|\n \n|\n"),
        (" \n ", "| [SEP] |", "|\n|\n"),
        ("\xa0", "| [SEP]  [SEP] |", "|\n\xa0\n|\n"),
        ("\xa0\n", "| [SEP]  [SEP] |", "|\n\xa0\n\n|\n"),
        ("{0} &amp; <b>", "| [SEP] {0} &amp; <b> [SEP] |", "|\n{0} &amp; <b>\n|\n"),
    ],
)
def test_blank_texts(text: str, plain: str, rich: str) -> None:
    page = (Element("|"), Element(text), Element("|"))
    assert TEXT.write(page) == plain
    assert RICH.write(page) == rich
