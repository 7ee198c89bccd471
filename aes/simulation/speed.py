"""How fast a device is: seconds of a decoding step by the number of sequences in it, and what else holds it up."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise

from aes.errors import ConfigError


@dataclass(frozen=True)
class Curve:
    """Seconds of one decoding step by batch size: straight lines through (sequences, seconds), at least two of them.

    Beyond the ends the outer lines go on, though never below the shortest step given. Raises ConfigError for points
    out of order or no time at all.
    """

    points: tuple[tuple[int, float], ...]

    def __post_init__(self) -> None:
        sizes = [size for size, _ in self.points]
        if len(sizes) < 2 or sizes[0] < 1 or any(b <= a for a, b in pairwise(sizes)):
            raise ConfigError(f"curve {self.points}: at least two batch sizes, rising from 1 up (name others)")
        if not all(0 < seconds < math.inf for _, seconds in self.points):
            raise ConfigError(f"curve {self.points}: a step takes some time (give seconds above 0)")

    @classmethod
    def linear(cls, base: float, per_sequence: float) -> Curve:
        """A step of base + per_sequence * batch seconds. Raises ConfigError."""
        if not (base >= 0 and per_sequence >= 0):
            raise ConfigError(f"curve {base * 1e3:g},{per_sequence * 1e3:g}: no time is negative (milliseconds >= 0)")
        return cls(((1, base + per_sequence), (2, base + 2 * per_sequence)))

    def seconds(self, batch: int) -> float:
        """One step of `batch` sequences."""
        right = min(max(bisect_left(self.points, (batch, 0.0)), 1), len(self.points) - 1)
        (low, fast), (high, slow) = self.points[right - 1], self.points[right]
        there = fast + (slow - fast) * (batch - low) / (high - low)
        return max(there, min(seconds for _, seconds in self.points))


@dataclass(frozen=True)
class Speed:
    """What one device takes its time for, in seconds. All but decoding keeps the whole device busy. Raises ConfigError.

    Attributes:
        curve: a decoding step.
        prefill: one new token of a prompt; what was there the turn before is in the prefix cache.
        build: the adapter of one member, when it is seated.
        update: one update of the centre.
    """

    curve: Curve
    prefill: float = 0.0
    build: float = 0.0
    update: float = 0.0

    def __post_init__(self) -> None:
        for name in ("prefill", "build", "update"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ConfigError(f"curve: {name} {getattr(self, name):g} s: no less than 0 (raise it)")
