from __future__ import annotations

import pytest

from envs.webshop.shop.actions import Action, parse, parse_strictly


@pytest.mark.parametrize(
    ("text", "strict", "lenient"),
    [
        ("search[Red Shoes]", Action("search", "red shoes"), Action("search", "red shoes")),
        ("click[Next >] because", Action("click", "next >"), Action("click", "next >")),
        ("search[ ]", Action("search", " "), None),
        ("search[]", None, None),
        ("foo", None, None),
        ("think[x]", None, None),
        ("Search[a]", None, Action("search", "a")),
        (" click[a  b] ", None, Action("click", "a b")),
        ("click[a [b]]", None, Action("click", "a [b]")),
        ("search[[x]]", None, Action("search", "[x]")),
        ("I think so\nclick[a]", None, None),
    ],
)
def test_parsing(text: str, strict: Action | None, lenient: Action | None) -> None:
    assert parse_strictly(text) == strict
    assert parse(text) == lenient
