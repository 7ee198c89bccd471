"""All goals of one kind in their one order: an immutable sequence that makes a goal when it is asked for.

A catalogue of a million products stands for many millions of goals; here each costs four bytes.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray

from aes.errors import DataError
from envs.webshop.catalog.goals import Goal, GoalKind
from envs.webshop.catalog.wishes import Wish

_SHUFFLE_SEED = 233
_CURE = {
    "synthetic": "add instructions to its attribute file, or take kind 'human'",
    "human": "add items_human_ins.json to its folder, or take kind 'synthetic'",
}


@dataclass(frozen=True)
class _Table:
    """What every goal is made of.

    Attributes:
        wishes: the sources of goals.
        starts: [wishes + 1] the number of goals before each, in the order before the shuffle.
        weights: [wishes] the weight of each of a source's goals.
        order: [goals] shuffled place -> place before the shuffle.
    """

    wishes: list[Wish]
    starts: NDArray[np.int64]
    weights: NDArray[np.float64]
    order: NDArray[np.int32]


class Goals(Sequence[Goal]):
    """Goals in the original's shuffled order (seed 233), or a stretch of them.

    Every goal knows its place in the whole list (`Goal.index`), and the same place always gives an equal goal.
    """

    def __init__(self, table: _Table, places: range) -> None:
        self._table = table
        self._places = places

    @classmethod
    def of(cls, wishes: list[Wish], kind: GoalKind) -> Goals:
        """Order and weigh all goals of these sources. Raises DataError when there are none."""
        counts = [wish.count for wish in wishes]
        starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        if not starts[-1]:
            raise DataError(f"the catalogue has no {kind} goals; {_CURE[kind]}")
        order = list(range(int(starts[-1])))
        random.Random(_SHUFFLE_SEED).shuffle(order)
        weights = _weights(wishes, counts) if kind == "synthetic" else [1.0] * len(wishes)
        table = _Table(wishes, starts, np.array(weights), np.array(order, np.int32))
        return cls(table, range(len(order)))

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, at: int) -> Goal: ...
    @overload
    def __getitem__(self, at: slice) -> Goals: ...
    def __getitem__(self, at: int | slice) -> Goal | Goals:
        if isinstance(at, slice):
            return Goals(self._table, self._places[at])
        table, index = self._table, self._places[at]
        place = int(table.order[index])
        source = int(np.searchsorted(table.starts, place, side="right")) - 1
        return table.wishes[source].goal(place - int(table.starts[source]), index, float(table.weights[source]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Goals) and len(self) == len(other) and all(map(Goal.__eq__, self, other))

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def cumulative_weights(self) -> NDArray[np.float64]:
        """Sums of the goals' sampling weights up to and including each, shape [goals]."""
        table = self._table
        places = table.order[np.arange(self._places.start, self._places.stop, self._places.step)]
        return np.cumsum(table.weights[np.searchsorted(table.starts, places, side="right") - 1])


def _weights(wishes: list[Wish], counts: list[int]) -> list[float]:
    """Weigh a goal by the mean over its attributes of 1 / (goals that have the attribute)."""
    having: Counter[str] = Counter()
    for wish, count in zip(wishes, counts, strict=True):
        for attribute in wish.attributes:
            having[attribute] += count
    return [
        sum(1.0 / having[attribute] for attribute in wish.attributes) / len(wish.attributes) if count else 0.0
        for wish, count in zip(wishes, counts, strict=True)
    ]
