"""What every benchmark shares: a named ratio with its spread over repetitions."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Figure:
    """One figure: the values of its repetitions, and what each side was."""

    name: str
    unit: str
    values: Sequence[float]
    detail: dict[str, float] = field(default_factory=dict)

    @property
    def row(self) -> tuple[str, str, str, str]:
        """Name, median, range, detail: a line of the table."""
        low, high = min(self.values), max(self.values)
        detail = ", ".join(f"{key} {value:.3g}" for key, value in self.detail.items())
        return self.name, f"{statistics.median(self.values):.3g} {self.unit}", f"{low:.3g} to {high:.3g}", detail
