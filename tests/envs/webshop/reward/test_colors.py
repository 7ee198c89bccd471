from __future__ import annotations

import pytest

from envs.webshop.reward.colors import COLORS, normalize_color


@pytest.mark.parametrize(
    ("text", "color"),
    [
        ("", ""),
        ("black forest", "black"),
        ("violet lavender", "lavender"),
        ("steelivy fuchsia", "fuchsia"),
        ("123alabaster", "alabaster"),
        ("webshop", "webshop"),
        ("titanium", "tan"),
    ],
)
def test_a_text_becomes_its_first_colour(text: str, color: str) -> None:
    assert normalize_color(text) == color


def test_a_pair_becomes_a_colour_only_whole() -> None:
    assert normalize_color(("color", "grey")) == "grey"
    assert normalize_color(("color", "dark grey")) == ("color", "dark grey")


def test_colours_are_sorted() -> None:
    assert len(COLORS) == 102
    assert list(COLORS) == sorted(COLORS)
