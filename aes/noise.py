"""Directions: eps(seed) ~ N(0, I), redrawn from the seed wherever they are needed, never stored or sent.

A direction is drawn in blocks from one torch generator of the device type that holds the centre, so that memory
stays bounded at any dimension. The block size is part of the definition: another one gives other numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

BLOCK = 1 << 20
_MASK = 0xFFFFFFFF


def blocks(seed: int, dim: int, device: torch.device | str = "cpu") -> Iterator[tuple[slice, torch.Tensor]]:
    """Yield eps(seed) [dim] as consecutive (slice, float32 block) pieces."""
    import torch  # here, so that `import aes` (and `aes --help`) need not wait for it

    generator = torch.Generator(device=device).manual_seed(seed)
    for start in range(0, dim, BLOCK):
        stop = min(start + BLOCK, dim)
        yield slice(start, stop), torch.randn(stop - start, generator=generator, device=device, dtype=torch.float32)


def add_direction(vector: torch.Tensor, seed: int, coefficient: float) -> None:
    """Add coefficient * eps(seed) to a float32 vector [dim], in place."""
    for where, block in blocks(seed, vector.numel(), vector.device):
        vector[where].add_(block, alpha=coefficient)


def seed_of(run_seed: int, index: int) -> int:
    """The direction seed of the index-th proposal of a run, in [0, 2**32).

    For one run seed this is a bijection on 32 bits (the finaliser of MurmurHash3), so no two proposals of a run share
    a direction. torch's CPU generator reads 32 bits of a seed, hence not more.
    """
    return _scramble((_scramble(run_seed & _MASK) + index) & _MASK)


def _scramble(x: int) -> int:
    x ^= x >> 16
    x = x * 0x85EBCA6B & _MASK
    x ^= x >> 13
    x = x * 0xC2B2AE35 & _MASK
    return x ^ x >> 16
