"""Directions: reproducible, distinct, and normal."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from aes import noise


def whole(seed: int, dim: int) -> torch.Tensor:
    return torch.cat([block for _, block in noise.blocks(seed, dim)])


@pytest.mark.parametrize("dim", [1, 7, 100, noise.BLOCK, noise.BLOCK + 3, 2 * noise.BLOCK + 17])
def test_blocks_tile_the_vector_and_are_bounded(dim: int) -> None:
    places = [(where.start, where.stop, block.numel()) for where, block in noise.blocks(3, dim)]
    assert [start for start, _, _ in places] == list(range(0, dim, noise.BLOCK))
    assert places[-1][1] == dim
    assert all(stop - start == size <= noise.BLOCK for start, stop, size in places)


def test_a_full_block_does_not_depend_on_what_follows_it() -> None:
    assert torch.equal(whole(5, noise.BLOCK + 1)[: noise.BLOCK], whole(5, noise.BLOCK + 999)[: noise.BLOCK])


def test_the_global_generator_plays_no_part() -> None:
    torch.manual_seed(1)
    first = whole(9, 1000)
    torch.manual_seed(2)
    torch.randn(17)
    before = torch.get_rng_state()
    assert torch.equal(first, whole(9, 1000))
    assert torch.equal(before, torch.get_rng_state())


@given(seed=st.integers(0, 2**32 - 1), dim=st.integers(1, 300), coefficient=st.floats(-4, 4, width=32))
def test_add_direction_adds_the_blocks(seed: int, dim: int, coefficient: float) -> None:
    vector = torch.linspace(-1, 1, dim)
    expected = vector + coefficient * whole(seed, dim)
    noise.add_direction(vector, seed, coefficient)
    torch.testing.assert_close(vector, expected, rtol=1e-6, atol=1e-6)


def test_add_direction_crosses_blocks() -> None:
    vector = torch.zeros(noise.BLOCK + 50)
    noise.add_direction(vector, 4, 1.0)
    assert torch.equal(vector, whole(4, noise.BLOCK + 50))


def test_directions_are_standard_normal_and_uncorrelated() -> None:
    dim = 200_000
    one, other = whole(1, dim), whole(2, dim)
    for direction in (one, other):
        assert abs(float(direction.mean())) < 5 / dim**0.5
        assert abs(float(direction.std()) - 1) < 5 / (2 * dim) ** 0.5
        assert abs(float((direction**4).mean()) - 3) < 0.15
    assert abs(float((one * other).mean())) < 5 / dim**0.5


@given(run_seed=st.integers(0, 2**32 - 1), start=st.integers(0, 2**32 - 5000))
def test_seeds_of_one_run_never_collide(run_seed: int, start: int) -> None:
    seeds = {noise.seed_of(run_seed, start + i) for i in range(5000)}
    assert len(seeds) == 5000
    assert all(0 <= seed < 2**32 for seed in seeds)


@given(x=st.integers(0, 2**32 - 1))
def test_the_scramble_is_a_bijection(x: int) -> None:
    assert unscramble(noise._scramble(x)) == x


def unscramble(x: int) -> int:
    """The inverse, step by step: each xor-shift undoes itself, each factor has an inverse modulo 2**32."""
    mask = 0xFFFFFFFF
    x ^= x >> 16
    x = x * pow(0xC2B2AE35, -1, 2**32) & mask
    x ^= x >> 13 ^ x >> 26
    x = x * pow(0x85EBCA6B, -1, 2**32) & mask
    return x ^ x >> 16


def test_runs_of_near_seeds_differ_from_the_first_proposal_on() -> None:
    assert len({noise.seed_of(run_seed, index) for run_seed in range(50) for index in range(50)}) == 2500
