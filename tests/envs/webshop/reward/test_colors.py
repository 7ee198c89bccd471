from __future__ import annotations

from envs.webshop.reward.colors import COLORS, normalize_color


def test_a_text_becomes_its_first_colour() -> None:
    assert normalize_color("titanium and red") == "red"
    assert normalize_color("titanium") == "tan"


def test_a_pair_becomes_a_colour_only_whole() -> None:
    assert normalize_color(("color", "grey")) == "grey"
    assert normalize_color(("color", "dark grey")) == ("color", "dark grey")


def test_colours_are_sorted() -> None:
    assert len(COLORS) == 102
    assert list(COLORS) == sorted(COLORS)
