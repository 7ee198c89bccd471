"""What every benchmark shares: figures with the values of their repetitions, and how much work to put into them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

Better = Literal["lower", "higher"]


@dataclass(frozen=True)
class Figure:
    """One figure: the values of its repetitions, and what each side was.

    Attributes:
        detail: what stands behind the values, by name.
        better: whether more of it is better, or less.
        goal: the value that the median should reach, if there is one.
    """

    name: str
    unit: str
    values: Sequence[float]
    detail: dict[str, float] = field(default_factory=dict)
    better: Better = "lower"
    goal: float | None = None

    @property
    def median(self) -> float:
        """The middle of the values."""
        return statistics.median(self.values)

    @property
    def met(self) -> bool | None:
        """Whether the median reaches the goal; None where there is no goal."""
        if self.goal is None:
            return None
        return self.median >= self.goal if self.better == "higher" else self.median <= self.goal


@dataclass(frozen=True)
class Effort:
    """How often to measure, and whether small cases must do."""

    repetitions: int
    quick: bool = False


Benchmark = Callable[[Effort], list[Figure]]
