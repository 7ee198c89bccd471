"""Drawing goals by weight, rightly or as the original does."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from aes.errors import UsageError
from envs.webshop.catalog.goal_list import Goals
from envs.webshop.catalog.goals import Goal


def draw_goal(goals: Sequence[Goal], rng: random.Random, compat: bool = False) -> Goal:
    """Draw a goal by weight; the original is off by one (the first never comes), and so is the compatible form."""
    return goals[_draw(_sums(goals), rng, compat)]


def limit_goals(goals: Sequence[Goal], limit: int, rng: random.Random, compat: bool = False) -> tuple[Goal, ...]:
    """Draw `limit` different goals by weight, in the order drawn; all of them where there are no more.

    Raises UsageError for a negative limit, and where so many can never be drawn.
    """
    if limit < 0:
        raise UsageError(f"limit {limit}: give how many goals to keep, 0 or more")
    if limit >= len(goals):
        return tuple(goals)
    sums = _sums(goals)
    possible = np.unique(np.minimum(np.flatnonzero(np.diff(sums, prepend=0.0)) + compat, len(sums) - 1))
    if limit > len(possible):
        raise UsageError(f"limit {limit}: only {len(possible)} of the goals can be drawn; take fewer or all")
    drawn: dict[int, None] = {}
    while len(drawn) < limit:
        drawn[_draw(sums, rng, compat)] = None
    return tuple(goals[at] for at in drawn)


def _draw(sums: NDArray[np.float64], rng: random.Random, compat: bool) -> int:
    at = int(np.searchsorted(sums, rng.uniform(0, float(sums[-1])), side="right")) + compat
    return min(at, len(sums) - 1)


def _sums(goals: Sequence[Goal]) -> NDArray[np.float64]:
    return goals.cumulative_weights if isinstance(goals, Goals) else np.cumsum([goal.weight for goal in goals])
