"""Goals: what an agent is sent to buy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

GoalKind = Literal["synthetic", "human"]

NO_CEILING = 1_000_000.0
"""The ceiling of a goal that has none, in dollars."""


@dataclass(frozen=True, slots=True)
class Goal:
    """One shopping goal.

    `index` is its position in the shuffled list of its kind, which splits refer to; `id` is a hash of its content
    and stays the same when the list around it grows. `instruction` is the whole text, price ceiling included.
    `options` is a mapping for a synthetic goal and a tuple of values for a human one: the reward treats the two
    differently, as the original does. `price_upper` is in dollars; 1,000,000 means no ceiling. `weight` is the
    original's sampling weight.
    """

    id: str
    index: int
    asin: str
    category: str
    query: str
    name: str
    product_category: str
    instruction: str
    attributes: tuple[str, ...]
    price_upper: float
    options: Mapping[str, str] | tuple[str, ...]
    weight: float = 1.0

    def __hash__(self) -> int:
        return hash(self.id)

    @property
    def option_values(self) -> tuple[str, ...]:
        """The option values to choose, whichever kind of goal this is."""
        return tuple(self.options.values()) if isinstance(self.options, Mapping) else self.options
