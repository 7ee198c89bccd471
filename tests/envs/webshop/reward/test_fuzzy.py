from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.webshop.reward.fuzzy import matches, token_set_ratio


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


# Two words of 40 letters that differ in the last ones: the indel ratio is 100 * common / 40.
@pytest.mark.parametrize(("differing", "matched"), [(5, True), (6, False), (7, False)])
def test_the_threshold_is_above_85(differing: int, matched: bool) -> None:
    assert matches("a" * 40, "a" * (40 - differing) + "b" * differing) is matched


@given(st.text(max_size=20), st.text(max_size=20))
def test_it_is_symmetric_and_bounded(one: str, other: str) -> None:
    assert 0 <= token_set_ratio(one, other) == token_set_ratio(other, one) <= 100


def test_golden_pairs(golden: Callable[[str], Any]) -> None:
    for one, other, ratio, _ in golden("golden_token_set_ratio")["rows"]:
        assert token_set_ratio(one, other) == ratio
