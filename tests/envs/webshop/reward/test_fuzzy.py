from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.webshop.reward.fuzzy import Ratio, matches, token_set_ratio


@pytest.mark.parametrize(
    ("one", "other", "ratio"),
    [
        ("large", "x-large", 100),
        ("x-large", "xx-large", 93),
        ("x-large", ("size", "xx-large"), 83),
        ("xx-large", ("size", "x-large"), 77),
        ("8.5", ("size", "8"), 50),
        ("10x50 hd binoculars", "15x60 hd binoculars", 89),
        ("caf\u00e9", "caf", 100),
        ("", "x", 0),
        ("!?", "!?", 0),
    ],
)
def test_token_set_ratio(one: object, other: object, ratio: int) -> None:
    assert token_set_ratio(one, other) == ratio


def test_what_the_matching_blocks_of_difflib_miss() -> None:
    pair = ("10x50 hd binoculars", "15x60 hd binoculars")
    assert (token_set_ratio(*pair), token_set_ratio(*pair, "difflib")) == (89, 84)


# Two words of 100 letters that differ in the last ones only.
@pytest.mark.parametrize("ratio", ["rapidfuzz", "difflib"])
@pytest.mark.parametrize(("likeness", "matched"), [(84, False), (85, False), (86, True)])
def test_texts_match_above_85(likeness: int, matched: bool, ratio: Ratio) -> None:
    pair = ("a" * 100, "a" * likeness + "b" * (100 - likeness))
    assert token_set_ratio(*pair, ratio) == likeness
    assert matches(*pair, ratio) is matched


@given(st.text(max_size=20), st.text(max_size=20), st.sampled_from(["rapidfuzz", "difflib"]))
def test_it_is_bounded_and_blind_to_order_and_repetition(one: str, other: str, ratio: Ratio) -> None:
    likeness = token_set_ratio(one, other, ratio)
    assert 0 <= likeness <= 100
    assert token_set_ratio(" ".join(reversed(one.split(" "))) + " " + one, other, ratio) == likeness
    assert token_set_ratio(one, one, ratio) in (0, 100)


@pytest.mark.parametrize(("ratio", "column"), [("rapidfuzz", 2), ("difflib", 3)])
def test_golden_pairs(golden: Callable[[str], Any], ratio: Ratio, column: int) -> None:
    for row in golden("golden_token_set_ratio")["rows"]:
        assert token_set_ratio(row[0], row[1], ratio) == row[column], row
