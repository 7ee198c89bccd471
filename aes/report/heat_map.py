"""The heat map: what every lag and share of stale measurements costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from aes.report.figures import ArmFigures
from aes.report.looks import INK, new_figure, plain, shade
from aes.study.statistics import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def heat_map(arms: Sequence[ArmFigures], estimators: Sequence[str]) -> Figure:
    """The difference to synchronous by lag and share, a panel for each estimator."""
    controlled = [f for f in arms if f.arm.kind == "controlled" and f.difference is not None]
    across = sorted({f.arm.lag for f in controlled})
    down = sorted({f.arm.frac or 0.0 for f in controlled}, reverse=True)
    most = _strongest([f.difference for f in controlled if f.difference is not None])
    figure = new_figure(1.1 + 1.25 * len(across) * len(estimators), 0.72 * len(down) + 0.95)
    axes = figure.subplots(1, len(estimators), squeeze=False, sharey=True)[0]
    for panel, estimator in zip(axes, estimators, strict=True):
        panel.set_xlim(-0.5, len(across) - 0.5)
        panel.set_ylim(len(down) - 0.5, -0.5)
        for f in controlled:
            if f.arm.estimator == estimator and f.difference is not None:
                _cell(panel, across.index(f.arm.lag), down.index(f.arm.frac or 0.0), f.difference, most)
        plain(panel, frame=False)
        panel.set_xticks(range(len(across)), [str(lag) for lag in across])
        panel.set_yticks(range(len(down)), [f"{share:.0%}" for share in down])
        panel.tick_params(length=0)
        panel.set_xlabel("lag, in updates", fontsize=9, color=INK)
        if len(estimators) > 1:
            panel.set_title(estimator, loc="left", fontsize=10, color=INK)
    axes[0].set_ylabel("stale measurements", fontsize=9, color=INK)
    return figure


def _strongest(differences: Sequence[Interval]) -> float:
    """The difference that has the strongest colour: at least what noise alone may make, so that noise stays pale."""
    return max(0.01, *(abs(d.mean) for d in differences), *(1.5 * (d.high - d.low) / 2 for d in differences))


def _cell(panel: Axes, x: int, y: int, interval: Interval, most: float) -> None:
    from matplotlib.patches import Rectangle

    face, ink = shade(interval.mean / most)
    panel.add_patch(Rectangle((x - 0.48, y - 0.47), 0.96, 0.94, facecolor=face, linewidth=0))
    weight = "normal" if interval.holds_zero else "bold"
    panel.text(x, y - 0.13, f"{interval.mean:+.3f}", ha="center", va="center", fontsize=10, color=ink, weight=weight)
    limits = f"{interval.low:+.3f} to {interval.high:+.3f}"
    panel.text(x, y + 0.22, limits, ha="center", va="center", fontsize=6.5, color=ink)
