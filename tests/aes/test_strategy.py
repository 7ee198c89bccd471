"""Estimators against hand-worked examples, and the laws they obey."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aes import strategy
from aes.types import Measurement, Proposal

finite = st.floats(-1e6, 1e6)
couples = st.lists(st.tuples(finite, finite), min_size=1, max_size=12)


def measured(
    fitness: Sequence[Sequence[float]], versions: Sequence[int] | None = None, goals: Sequence[int] | None = None
) -> list[Measurement]:
    made = []
    for i, values in enumerate(fitness):
        batch = (goals[i] if goals else 0,)
        version = versions[i] if versions else 0
        proposal = Proposal(i, 100 + i, version, 0.5, (1, -1)[: len(values)], batch)
        made.append(Measurement(proposal, tuple(values), 2, 0, 0, 0, 0, 1.0))
    return made


def test_pairs_by_hand() -> None:
    # differences 1, -1, 0.5, 1.5: mean 0.5, deviation sqrt((0.25 + 2.25 + 0 + 1) / 4) = sqrt(0.875)
    z = strategy.pairs(measured([(1.0, 0.0), (0.0, 1.0), (0.75, 0.25), (1.5, 0.0)]))
    assert z is not None
    np.testing.assert_allclose(z, np.array([1, -1, 0.5, 1.5]) / math.sqrt(0.875))


def test_zscore_by_hand() -> None:
    # fitness 1, 2, 3, 6: mean 3, centred -2, -1, 0, 3, population deviation sqrt(14 / 4)
    z = strategy.zscore(measured([(1.0,), (2.0,), (3.0,), (6.0,)]))
    assert z is not None
    np.testing.assert_allclose(z, np.array([-2, -1, 0, 3]) / (math.sqrt(3.5) + 1e-8))


def test_ranks_by_hand() -> None:
    # all six: 0.1 < 0.2 < 0.3 = 0.3 < 0.7 < 0.9 -> ranks 1, 2, 3.5, 3.5, 5, 6 -> (r - 1) / 5 - 0.5
    z = strategy.ranks(measured([(0.9, 0.1), (0.3, 0.3), (0.2, 0.7)]))
    assert z is not None
    np.testing.assert_allclose(z, [0.5 + 0.5, 0.0, -0.3 - 0.3])


def test_centred_ranks_share_ties_and_stay_within_half() -> None:
    np.testing.assert_allclose(strategy.centred_ranks(np.array([5.0, 5.0, 1.0])), [0.25, 0.25, -0.5])
    np.testing.assert_allclose(strategy.centred_ranks(np.array([7.0])), [0.0])


@given(values=couples)
def test_swapping_a_pair_turns_its_sign(values: list[tuple[float, float]]) -> None:
    for estimator in (strategy.pairs, strategy.ranks):
        z, swapped = estimator(measured(values)), estimator(measured([(b, a) for a, b in values]))
        assert (z is None) == (swapped is None)
        if z is not None and swapped is not None:
            np.testing.assert_allclose(z, -swapped, atol=1e-9)


@given(values=couples, scale=st.floats(0.5, 8), shift=st.floats(-100, 100))
def test_pairs_and_ranks_do_not_see_a_common_baseline(
    values: list[tuple[float, float]], scale: float, shift: float
) -> None:
    rounded = [(round(a, 3), round(b, 3)) for a, b in values]
    z = strategy.pairs(measured(rounded))
    moved = strategy.pairs(measured([(a * scale + shift, b * scale + shift) for a, b in rounded]))
    if z is not None and moved is not None:
        np.testing.assert_allclose(moved, z, rtol=1e-4, atol=1e-4)


@given(values=st.lists(st.tuples(st.integers(-20, 20), st.integers(-20, 20)), min_size=1, max_size=12))
def test_ranks_are_invariant_under_monotone_maps(values: list[tuple[int, int]]) -> None:
    def warp(x: float) -> float:
        return math.atan(x / 5) * 3 + x**3

    z = strategy.ranks(measured(values))
    warped = strategy.ranks(measured([(warp(a), warp(b)) for a, b in values]))
    assert (z is None) == (warped is None)
    if z is not None and warped is not None:
        np.testing.assert_allclose(z, warped)


@pytest.mark.parametrize("name", ["pairs", "zscore", "ranks"])
def test_equal_fitness_carries_no_signal(name: str) -> None:
    width = 1 if name == "zscore" else 2
    assert strategy.ESTIMATORS[name](measured([(0.3,) * width] * 5)) is None


def test_pairs_of_one_constant_difference_have_no_spread() -> None:
    assert strategy.pairs(measured([(0.4, 0.1), (0.5, 0.2)])) is None


@given(st.lists(st.tuples(finite, st.integers(0, 2), st.integers(0, 2)), min_size=2, max_size=20))
def test_zscore_is_centred_within_each_version_and_batch(rows: list[tuple[float, int, int]]) -> None:
    measurements = measured([(f,) for f, _, _ in rows], [v for _, v, _ in rows], [g for _, _, g in rows])
    z = strategy.zscore(measurements)
    if z is None:
        return
    spread = 0.0
    for group in {(v, g) for _, v, g in rows}:
        members = [i for i, (_, v, g) in enumerate(rows) if (v, g) == group]
        assert abs(z[members].sum()) < 1e-6
        spread = max(spread, float(np.ptp([rows[i][0] for i in members])))
    # The 1e-8 beside the deviation only shows where all fitness is nearly equal.
    assert math.isclose(float(np.mean(z**2)), 1.0, abs_tol=1e-3) or spread < 1e-3


def test_zscore_takes_no_side_between_two_goal_batches() -> None:
    """An easy batch and a hard one: without centring, every member of the easy one would seem good."""
    z = strategy.zscore(measured([(0.9,), (0.8,), (0.2,), (0.1,)], versions=[0, 0, 1, 1]))
    assert z is not None
    np.testing.assert_allclose(z, [1, -1, 1, -1], rtol=1e-6)


def test_a_lone_member_of_its_version_has_no_baseline() -> None:
    z = strategy.zscore(measured([(5.0,), (0.0,), (1.0,)], versions=[0, 1, 1]))
    assert z is not None
    assert z[0] == 0


def test_terms_are_the_written_formula() -> None:
    terms = strategy.terms(measured([(1.0, 0.0), (0.0, 1.0)]), np.array([2.0, -1.0]), lr=0.5)
    assert [(t.seed, t.coefficient) for t in terms] == [(100, 0.5 * 2 / 2), (101, 0.5 * -1 / 2)]


@given(st.floats(1e-4, 10), st.floats(0.01, 1), st.integers(1, 500), st.integers(0, 600))
def test_sigma_never_falls_below_its_floor(sigma: float, floor: float, updates: int, version: int) -> None:
    now, then = (strategy.sigma_at(sigma, floor, v, updates) for v in (version, version + 1))
    assert sigma * floor * (1 - 1e-9) <= then <= now * (1 + 1e-9) <= sigma * (1 + 1e-8)


def test_sigma_runs_from_its_start_to_its_floor() -> None:
    assert strategy.sigma_at(2.0, 0.25, 0, 11) == 2.0
    assert strategy.sigma_at(2.0, 0.25, 5, 11) == pytest.approx(1.25)
    assert strategy.sigma_at(2.0, 0.25, 10, 11) == pytest.approx(0.5)
    assert strategy.sigma_at(2.0, 1.0, 7, 11) == 2.0
    assert strategy.sigma_at(2.0, 0.5, 0, 1) == 2.0
