"""Small charts made of characters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rich.text import Text

_BLOCKS = " ▁▂▃▄▅▆▇█"


def curve(bars: Sequence[float], dots: Mapping[int, float], length: int, width: int, height: int) -> list[Text]:
    """A chart of `height` lines, `width` columns wide, over the steps 0..length.

    `bars` (one per step, from 0) are filled columns, `dots` (step -> value) stand on top; the value axis is left.
    """
    values = [value for value in [*bars, *dots.values()] if math.isfinite(value)]
    low, high = _bounds(values)
    columns = _columns(bars, length, width)
    marks = {_place(step, length, width): value for step, value in sorted(dots.items()) if math.isfinite(value)}
    lines = []
    for row in reversed(range(height)):
        axis = f"{high:5.2f} ┤" if row == height - 1 else f"{low:5.2f} ┤" if row == 0 else "      │"
        line = Text(axis, style="dim")
        for column in range(width):
            line.append(*_cell(columns[column], marks.get(column), low, high, row, height))
        lines.append(line)
    return lines


def bar(share: float, width: int, style: str = "cyan") -> Text:
    """A horizontal bar of a share in [0, 1] on a dim rail."""
    filled = round(min(max(share, 0.0), 1.0) * width)
    return Text.assemble(("━" * filled, style), ("━" * (width - filled), "bright_black"))


def _cell(value: float | None, mark: float | None, low: float, high: float, row: int, height: int) -> tuple[str, str]:
    span = (high - low) or 1.0
    if mark is not None and min(int((mark - low) / span * height), height - 1) == row:
        return "●", "bold green"
    if value is None:
        return " ", ""
    # The smallest bar still shows, so that a step that has been made can be seen.
    eighths = max(1, round((value - low) / span * height * 8))
    return _BLOCKS[min(max(eighths - 8 * row, 0), 8)], "cyan"


def _columns(bars: Sequence[float], length: int, width: int) -> list[float | None]:
    """One value per column: the mean of the steps it stands for, and none for steps to come."""
    gathered: list[list[float]] = [[] for _ in range(width)]
    for step, value in enumerate(bars):
        first, following = _place(step, length, width), _place(step + 1, length, width)
        for column in range(first, max(following, first + 1) if math.isfinite(value) else first):
            gathered[column].append(value)
    return [sum(values) / len(values) if values else None for values in gathered]


def _place(step: int, length: int, width: int) -> int:
    return min(round(step / max(length, 1) * (width - 1)), width - 1)


def _bounds(values: Sequence[float]) -> tuple[float, float]:
    """Tenths around all values."""
    if not values:
        return 0.0, 1.0
    low, high = math.floor(min(values) * 10) / 10, math.ceil(max(values) * 10) / 10
    return low, high if high > low else low + 0.1
