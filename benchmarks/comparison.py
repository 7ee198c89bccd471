"""A figure beside the committed one of the same kind of machine: a regression is to be seen, whatever else is."""

from __future__ import annotations

from typing import Literal

from benchmarks.measure import Figure

TOLERANCE = 0.1
"""How far a median may lie outside the committed range, as a share of the range's nearer end."""

FEWEST = 3
"""Repetitions from which on values have a range that means something."""

Verdict = Literal["", "worse", "better"]


def verdict(now: Figure, committed: Figure | None) -> Verdict:
    """Where the median lies: within the committed range and a tolerance, or outside on the bad or the good side.

    Nothing is said where too few values were committed, or in another unit.
    """
    if committed is None or len(committed.values) < FEWEST or committed.unit != now.unit:
        return ""
    low, high = min(committed.values), max(committed.values)
    below = now.median < low - TOLERANCE * abs(low)
    above = now.median > high + TOLERANCE * abs(high)
    if not below and not above:
        return ""
    return "better" if above == (now.better == "higher") else "worse"
