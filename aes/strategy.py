"""Evolution strategies: from measured fitness to the terms of an update.

    theta_{v+1} = theta_v + lr * (1/n) * sum_i z_i * eps(seed_i)

Sources: antithetic sampling and ranks from Salimans et al., arXiv 1703.03864; z-scores without 1/sigma from Qiu et al.,
arXiv 2509.24372, and arXiv 2610.04196. Every estimator takes the measurements of one update and returns one z per
measurement, or None when they carry no signal (all fitness equal).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from aes.config import Config
from aes.types import Measurement, Term, Update

Estimator = Callable[[Sequence[Measurement]], NDArray[np.float64] | None]

TINY = 1e-8


def pairs(measurements: Sequence[Measurement]) -> NDArray[np.float64] | None:
    """z_i = (F_i+ - F_i-) / s, s the standard deviation of the differences.

    Both members of a pair play the same goals at one version, so a pair is its own baseline: mixing versions or goals
    in one update biases nothing.
    """
    differences = np.array([m.fitness[0] - m.fitness[1] for m in measurements])
    deviation = differences.std()
    return None if deviation < TINY else differences / deviation


def zscore(measurements: Sequence[Measurement]) -> NDArray[np.float64] | None:
    """z_i = (F_i - mean) / (s + 1e-8) for lone members, s the population deviation.

    Members of one version and goal batch are centred on their own mean; s is taken over all centred values. A group of
    one has no baseline and gets z = 0.
    """
    fitness = np.array([m.fitness[0] for m in measurements])
    for group in _groups(measurements):
        fitness[group] -= fitness[group].mean()
    deviation = math.sqrt(float(np.mean(fitness**2)))
    return None if deviation < TINY else fitness / (deviation + TINY)


def ranks(measurements: Sequence[Measurement]) -> NDArray[np.float64] | None:
    """z_i = r_i+ - r_i-, r the centred ranks in [-0.5, 0.5] of all members of one version and goal batch.

    Equal fitness shares the mean rank.
    """
    z = np.zeros(len(measurements))
    for group in _groups(measurements):
        ranked = centred_ranks(np.array([measurements[i].fitness for i in group]))
        z[group] = ranked[:, 0] - ranked[:, 1]
    return z if np.abs(z).max() > TINY else None


def centred_ranks(fitness: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks of an array of any shape, scaled to [-0.5, 0.5]; ties share their mean rank, a lone value gets 0."""
    if fitness.size == 1:
        return np.zeros_like(fitness)
    from scipy.stats import rankdata  # here, for it takes longer to import than all of aes

    ranked: NDArray[np.float64] = rankdata(fitness, axis=None).reshape(fitness.shape)
    return (ranked - 1) / (fitness.size - 1) - 0.5


ESTIMATORS: dict[str, Estimator] = {"pairs": pairs, "zscore": zscore, "ranks": ranks}


def terms(measurements: Sequence[Measurement], z: NDArray[np.float64], lr: float) -> tuple[Term, ...]:
    """The update's summands lr * z_i / n * eps(seed_i), in the order of the measurements."""
    scale = lr / len(measurements)
    return tuple(Term(m.proposal.seed, float(scale * zi)) for m, zi in zip(measurements, z, strict=True))


def update_of(config: Config, version: int, measurements: Sequence[Measurement]) -> Update:
    """The update of `version` that measurements make; without terms where they carry no signal."""
    z = ESTIMATORS[config.estimator](measurements)
    if z is None:
        return Update(version, ())
    step = terms(measurements, z, config.lr)
    return Update(version, step, shrink=config.lr * config.decay, momentum=config.momentum)


def sigma_at(sigma: float, floor: float, version: int, updates: int) -> float:
    """Cosine from sigma at version 0 to floor * sigma at the last update (floor 1: constant)."""
    progress = min(version / max(updates - 1, 1), 1.0)
    return sigma * (floor + (1 - floor) * (1 + math.cos(math.pi * progress)) / 2)


def _groups(measurements: Sequence[Measurement]) -> list[list[int]]:
    def key(i: int) -> tuple[int, tuple[int, ...]]:
        return measurements[i].proposal.version, measurements[i].proposal.goals

    return [list(group) for _, group in groupby(sorted(range(len(measurements)), key=key), key=key)]
