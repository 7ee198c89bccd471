"""Intervals over seeds and goals: laws, a case worked by hand, and how often they cover the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from aes.study.statistics import Interval, bootstrap

matrices = st.tuples(st.integers(1, 5), st.integers(1, 8), st.integers(0, 2**32 - 1)).map(
    lambda shape: np.random.default_rng(shape[2]).random(shape[:2])
)


@pytest.mark.parametrize("scores", [[[0.0], [1.0]], [[0.0, 1.0]]])
def test_two_values_by_hand(scores: list[list[float]]) -> None:
    # Two draws of {0, 1} have the mean 0, 1/2 or 1 in a quarter, a half and a quarter of all resamples.
    assert bootstrap(np.array(scores)) == Interval(0.5, 0.0, 1.0)


def test_seeds_and_goals_are_drawn_apart_by_hand() -> None:
    # Both seeds and both goals of [[0, 0], [0, 1]] are drawn with replacement: the mean is the share of seed 2 times
    # that of goal 2, each 0, 1/2, 1 with probability 1/4, 1/2, 1/4. So it is 1 in 1 of 16 resamples, which is more than
    # the 2.5 % above the interval, and 0 in 7 of 16.
    drawn = bootstrap(np.array([[0.0, 0.0], [0.0, 1.0]]))
    assert drawn == Interval(0.25, 0.0, 1.0)


@settings(max_examples=30)
@given(scores=matrices, shift=st.floats(-5, 5), scale=st.floats(0.1, 5))
def test_an_interval_moves_with_its_scores(scores: NDArray[np.float64], shift: float, scale: float) -> None:
    plain, moved = bootstrap(scores, draws=400), bootstrap(scores * scale + shift, draws=400)
    for one, other in ((plain.mean, moved.mean), (plain.low, moved.low), (plain.high, moved.high)):
        assert other == pytest.approx(one * scale + shift, abs=1e-9)
    assert plain.low - 1e-12 <= plain.mean <= plain.high + 1e-12 or scores.size < 4
    assert scores.min() - 1e-12 <= plain.low <= plain.high <= scores.max() + 1e-12


@given(value=st.floats(-1, 1), seeds=st.integers(1, 4), goals=st.integers(1, 6))
def test_equal_scores_leave_no_doubt(value: float, seeds: int, goals: int) -> None:
    found = bootstrap(np.full((seeds, goals), value), draws=100)
    assert (found.mean, found.low, found.high) == pytest.approx((value, value, value))


@given(scores=matrices)
def test_a_failed_goal_is_as_one_that_is_not_there(scores: NDArray[np.float64]) -> None:
    wider = np.hstack([scores, np.full((len(scores), 1), math.nan)])
    assert bootstrap(wider, draws=50).mean == pytest.approx(bootstrap(scores, draws=50).mean)


def test_nothing_played_is_nothing_known() -> None:
    found = bootstrap(np.full((2, 3), math.nan))
    assert math.isnan(found.mean)
    assert not found.holds_zero


def test_what_both_arms_share_cancels_out_of_their_difference() -> None:
    rng = np.random.default_rng(0)
    hard = rng.random((1, 50)) + rng.normal(0, 0.2, (5, 1))
    better = hard + 0.05 + rng.normal(0, 0.01, (5, 50))
    difference = bootstrap(better - hard)
    assert not difference.holds_zero
    assert difference.high - difference.low < 0.02
    assert bootstrap(better).low < bootstrap(hard).high


@pytest.mark.parametrize(("seeds", "least", "most"), [(3, 0.72, 0.88), (20, 0.90, 0.99)])
def test_how_often_the_truth_is_covered(seeds: int, least: float, most: float) -> None:
    """Few seeds make intervals too narrow; the report says so."""
    rng, covered, times = np.random.default_rng(1), 0, 200
    for _ in range(times):
        scores = rng.normal(0, 0.05, (seeds, 1)) + rng.normal(0, 0.05, (1, 60)) + rng.normal(0, 0.1, (seeds, 60))
        covered += bootstrap(scores, draws=300).holds_zero
    assert least < covered / times < most, covered / times
