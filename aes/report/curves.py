"""Learning curves: held-out score by update, a panel for each kind of schedule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from aes.report.figures import ArmFigures
from aes.report.looks import GRID, INK, colour_of, dashed, group_of, new_figure, plain, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def curves(arms: Sequence[ArmFigures]) -> Figure:
    """Held-out score by update, one panel for each kind of schedule, the synchronous arm in all of them."""
    from matplotlib.ticker import MaxNLocator

    groups = list(dict.fromkeys(group_of(figures.arm) for figures in arms))
    shown = [group for group in groups if group != "synchronous"] or groups
    columns = min(3, len(shown))
    rows = -(-len(shown) // columns)
    figure = new_figure(3.3 * columns + 0.5, 2.7 * rows + 0.35)
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for number, panel in enumerate(axes.flat):
        if number >= len(shown):
            panel.set_axis_off()
            continue
        for figures in arms:
            if group_of(figures.arm) in ("synchronous", shown[number]):
                _curve(panel, figures)
        plain(panel)
        panel.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
        panel.grid(axis="y", color=GRID, linewidth=0.6)
        panel.set_title(shown[number], loc="left", fontsize=10, color=INK)
        panel.legend(loc="lower right", frameon=False, fontsize=8, labelcolor=INK, handlelength=1.6)
        panel.tick_params(labelbottom=number + columns >= len(shown), labelleft=number % columns == 0)
        if number + columns >= len(shown):
            panel.set_xlabel("update", fontsize=9, color=INK)
        if number % columns == 0:
            panel.set_ylabel("held-out score", fontsize=9, color=INK)
    return figure


def _curve(panel: Axes, figures: ArmFigures) -> None:
    versions = list(figures.curve)
    intervals = list(figures.curve.values())
    colour = colour_of(figures.arm)
    low, high = [i.low for i in intervals], [i.high for i in intervals]
    panel.fill_between(versions, low, high, color=colour, alpha=0.13, linewidth=0)
    means = [i.mean for i in intervals]
    style = (0, (4, 1.6)) if dashed(figures.arm) else "-"
    front = 3 if figures.arm.kind == "synchronous" else 2
    label = short(figures.arm)
    panel.plot(
        versions, means, color=colour, linewidth=1.8, linestyle=style, marker="o", markersize=2.8, label=label,
        zorder=front,
    )  # fmt: skip
