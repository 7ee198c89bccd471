from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


@given(st.lists(st.sampled_from(["search", "click", "[", "]", "a", "X", " ", "\n"]), max_size=10).map("".join))
def test_the_strict_form_is_the_original_pattern(text: str) -> None:
    found = re.match(r"(.+)\[(.+)\]", text)
    expected = (found[1], found[2].lower()) if found and found[1] in ("search", "click") else None
    action = parse_strictly(text)
    assert (action and (action.verb, action.argument)) == expected


@pytest.mark.timeout(5)
def test_many_brackets_take_no_quadratic_time() -> None:
    assert parse_strictly("[" * 1_000_000) is None
    assert parse("[" * 1_000_000) is None
