"""How pictures look: few colours, dark text on white, no more lines than are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aes.study.grid import Arm

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#222222"
DARK = "#3a3a3a"
GRID = "#e4e4e4"
RED = "#b5483a"

_WHITE = (1.0, 1.0, 1.0)
_NATURAL = ("#4fa69a", "#1f7a70", "#0d4f49")
_STRESS = {"all-stale": RED, "frozen": "#d08a3c"}
_LAG_COLOURS = ((1, "#8fb8de"), (2, "#5b93c7"), (4, "#2f6aa8"), (8, "#1a437a"), (10**9, "#0e2547"))


def group_of(arm: Arm) -> str:
    """Arms that belong side by side."""
    match arm.kind:
        case "synchronous":
            return "synchronous"
        case "natural":
            return "natural asynchrony"
        case "controlled":
            return f"controlled, {arm.frac:.0%} stale"
        case _:
            return "stress tests"


def family_of(arm: Arm) -> str:
    """Arms that stand closer together in a list: controlled ones of one lag, else those of one kind."""
    return f"lag {arm.lag}" if arm.kind == "controlled" else group_of(arm)


def short(arm: Arm) -> str:
    """The label of an arm under a heading that names its group."""
    return f"lag {arm.lag}" if arm.kind == "controlled" else arm.label


def colour_of(arm: Arm) -> str:
    """The colour of an arm, darker for more lag."""
    match arm.kind:
        case "synchronous":
            return DARK
        case "natural":
            return _NATURAL[min(max(arm.lag.bit_length() - 1, 0), 2)]
        case "controlled":
            return next(colour for lag, colour in _LAG_COLOURS if arm.lag <= lag)
        case _:
            return _STRESS[arm.kind]


def dashed(arm: Arm) -> bool:
    """Whether an arm's line is broken, to be told from its like."""
    return arm.on_stale == "drop"


def shade(value: float) -> tuple[str, str]:
    """Face and ink of a cell: red for -1, white for 0, blue for 1."""
    end = (0.169, 0.396, 0.643) if value > 0 else (0.710, 0.282, 0.227)
    return _between(_WHITE, end, min(abs(value), 1.0) * 0.85)


def lag_colour(value: float) -> tuple[str, str]:
    """Face and ink of a lag from 0 (none) to 1 (the most)."""
    return _between((0.898, 0.910, 0.922), (0.086, 0.196, 0.361), value)


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, sizes in inches, whose parts keep out of each other's way."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    return Figure(figsize=(width, height), layout=ConstrainedLayoutEngine(wspace=0.04))


def plain(panel: Axes, frame: bool = True) -> None:
    """Take away what a picture does not need, and make the rest dark."""
    for side, spine in panel.spines.items():
        spine.set_visible(frame and side in ("left", "bottom"))
        spine.set_color("#8a8a8a")
    panel.tick_params(colors=INK, labelsize=8.5)
    panel.set_axisbelow(True)


def _between(start: tuple[float, ...], end: tuple[float, ...], share: float) -> tuple[str, str]:
    """A colour between two, and an ink that can be read on it."""
    red, green, blue = (a + (b - a) * share for a, b in zip(start, end, strict=True))
    ink = "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.55 else INK
    return f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}", ink
