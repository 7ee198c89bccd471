"""Intervals over seeds and goals, by the bootstrap.

All runs of an arm play the same held-out goals, so seeds and goals are crossed: scores are a matrix [seeds, goals]. A
resample draws seeds with replacement and, independently, goals with replacement, and takes the mean of what they cross
in ("pigeonhole bootstrap", Owen, Annals of Applied Statistics 1(2), 2007); an interval holds the middle 95 % of the
resamples (percentile method). A difference between arms is that of the matrices, paired by seed and goal.

Few seeds make an interval too narrow, as any bootstrap of few draws: see `tests/aes/study/test_statistics.py` for how
often it covers the truth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]

DRAWS = 10_000
COVERS = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and what it may as well be."""

    mean: float
    low: float
    high: float

    @property
    def holds_zero(self) -> bool:
        """Whether a difference may as well be none."""
        return self.low <= 0 <= self.high


NONE = Interval(math.nan, math.nan, math.nan)


def bootstrap(scores: Scores, draws: int = DRAWS, seed: int = 0) -> Interval:
    """The mean of scores [seeds, goals] with its 95 % interval; nan scores (failed goals) are left out.

    With one seed the interval is over goals alone. The same scores give the same interval.
    """
    there = ~np.isnan(scores)
    if not there.any():
        return NONE
    seeds, goals = _counts(draws, scores.shape[0], scores.shape[1], seed)
    sums = ((seeds @ np.where(there, scores, 0.0)) * goals).sum(axis=1)
    numbers = ((seeds @ there) * goals).sum(axis=1)
    drawn = numbers > 0
    low, high = np.quantile(sums[drawn] / numbers[drawn], [(1 - COVERS) / 2, (1 + COVERS) / 2])
    return Interval(float(scores[there].mean()), float(low), float(high))


@lru_cache(maxsize=4)
def _counts(draws: int, seeds: int, goals: int, seed: int) -> tuple[Scores, Scores]:
    """How often each seed and each goal is drawn, in each of so many resamples: [draws, seeds] and [draws, goals]."""
    rng = np.random.default_rng(seed)
    first, second = (rng.multinomial(n, np.full(n, 1 / n), size=draws).astype(np.float64) for n in (seeds, goals))
    return first, second
