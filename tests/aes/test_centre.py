"""The centre: the written formula, the ring, and bits that agree."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from aes import noise
from aes.centre import Centre
from aes.errors import EngineError
from aes.types import Member, Term, Update

DIM = 37

coefficients = st.lists(st.tuples(st.integers(0, 2**32 - 1), st.floats(-2, 2)), max_size=4)


def direction(seed: int) -> NDArray[np.float64]:
    return np.asarray(torch.cat([block for _, block in noise.blocks(seed, DIM)]), dtype=np.float64)


def update(version: int, terms: list[tuple[int, float]], shrink: float = 0.0, momentum: float = 0.0) -> Update:
    return Update(version, tuple(Term(s, c) for s, c in terms), shrink, momentum)


@settings(max_examples=40)
@given(
    steps=st.lists(coefficients, min_size=1, max_size=5),
    shrink=st.sampled_from([0.0, 0.1, 0.5]),
    momentum=st.sampled_from([0.0, 0.9]),
)
def test_advance_is_the_written_formula(steps: list[list[tuple[int, float]]], shrink: float, momentum: float) -> None:
    start = torch.linspace(-1, 1, DIM)
    centre = Centre(start)
    theta0 = theta = start.numpy().astype(np.float64)
    velocity = np.zeros(DIM)
    for version, terms in enumerate(steps):
        centre.advance(update(version, terms, shrink, momentum))
        if terms:
            velocity = momentum * velocity + sum(c * direction(s) for s, c in terms)
            theta = theta + shrink * (theta0 - theta) + velocity
        np.testing.assert_allclose(centre.vector(version + 1).numpy(), theta, rtol=1e-4, atol=1e-4)


def test_a_skipped_update_counts_on_and_changes_no_bit() -> None:
    centre = Centre(torch.randn(DIM))
    before = centre.digest()
    advanced = centre.advance(update(0, [], shrink=0.5, momentum=0.9))
    assert advanced.digest == before
    assert centre.newest == 1


def test_a_step_of_zero_changes_no_bit() -> None:
    centre = Centre(torch.zeros(DIM))
    before = centre.digest()
    assert centre.advance(update(0, [(1, 0.0), (2, -0.0)])).digest == before


def test_the_start_is_never_written_to() -> None:
    start = torch.randn(DIM)
    kept = start.clone()
    centre = Centre(start)
    centre.advance(update(0, [(1, 1.0)], shrink=0.3, momentum=0.5))
    centre.member(Member(1, 5, 1, 0.5))
    assert torch.equal(start, kept)


def test_replaying_the_same_updates_gives_the_same_bits() -> None:
    updates = [update(v, [(v * 7 + i, 0.1 * i - 0.2) for i in range(4)], 0.01, 0.9) for v in range(6)]
    one, other = Centre(torch.zeros(DIM)), Centre(torch.zeros(DIM))
    assert [one.advance(u).digest for u in updates] == [other.advance(u).digest for u in updates]


def test_the_digest_sees_one_flipped_bit() -> None:
    theta = torch.zeros(DIM)
    before = Centre(theta).digest()
    theta[3] = -0.0
    assert Centre(theta).digest() != before


def test_the_ring_keeps_what_is_asked_for_and_the_newest() -> None:
    centre = Centre(torch.zeros(DIM))
    for version in range(4):
        centre.advance(update(version, [(version, 1.0)]), keep={0, 2, version})
    before = centre.held
    centre.advance(update(4, [(9, 1.0)]))
    assert (before, centre.held) == ((0, 2, 3, 4), (5,))
    with pytest.raises(EngineError, match="version 2 is no longer held"):
        centre.member(Member(2))


def test_kept_versions_are_left_as_they_were() -> None:
    centre = Centre(torch.randn(DIM))
    before = centre.vector(0).clone()
    for version in range(3):
        centre.advance(update(version, [(version, 1.0)], shrink=0.1, momentum=0.9), keep=range(9))
    assert torch.equal(centre.vector(0), before)


def test_an_update_out_of_turn_is_refused() -> None:
    centre = Centre(torch.zeros(DIM), version=3)
    with pytest.raises(EngineError, match="update of version 4 sent to a centre at version 3"):
        centre.advance(update(4, [(1, 1.0)]))


def test_moved_is_the_distance_over_each_lag() -> None:
    centre = Centre(torch.zeros(DIM))
    centre.advance(update(0, [(1, 1.0)]), keep={0})
    centre.advance(update(1, [(2, 1.0)]), keep={0})
    moved = centre.advance(update(2, [(3, 1.0)]), keep={0}, lags={0, 1, 2}).moved
    assert moved[0] == 0
    assert math.isnan(moved[1])
    assert moved[2] == pytest.approx(float(np.linalg.norm(direction(1) + direction(2))), rel=1e-5)


@given(seed=st.integers(0, 2**32 - 1), sigma=st.floats(1e-3, 4))
def test_members_of_a_pair_lie_opposite_each_other(seed: int, sigma: float) -> None:
    centre = Centre(torch.linspace(-1, 1, DIM))
    theta = centre.vector(0)
    plus, minus = (centre.member(Member(0, seed, sign, sigma)) for sign in (1, -1))
    torch.testing.assert_close(plus + minus, 2 * theta, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose((plus - theta).numpy(), sigma * direction(seed), rtol=1e-4, atol=1e-5)


def test_sign_zero_is_a_copy_of_the_centre() -> None:
    centre = Centre(torch.randn(DIM))
    member = centre.member(Member(0))
    assert torch.equal(member, centre.vector(0))
    member.add_(1)
    assert not torch.equal(member, centre.vector(0))


@given(st.integers(0, 10**6), st.integers(0, 2**32 - 1), st.sampled_from([-1, 0, 1]), st.floats(0, 10))
def test_a_name_stands_for_exactly_one_member(version: int, seed: int, sign: int, sigma: float) -> None:
    member = Member(version, seed, sign, sigma)
    assert Member.from_name(member.name) == member
