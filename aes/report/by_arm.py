"""Pictures with a line for each arm: differences with their intervals, and lags as they were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from aes.report.figures import ArmFigures
from aes.report.looks import DARK, GRID, INK, colour_of, family_of, lag_colour, new_figure, plain
from aes.study.statistics import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

LAGS = ((0, 0), (1, 1), (2, 2), (3, 4), (5, 8), (9, 10**9))
"""Lags that share a colour."""


def differences(arms: Sequence[ArmFigures], estimators: Sequence[str]) -> Figure:
    """Final score against the synchronous arm, arm by arm, a panel for each estimator."""
    compared = [figures for figures in arms if figures.difference is not None]
    labels, places = _places(compared)
    figure = new_figure(2.6 + 3.0 * len(estimators), 0.27 * (max(places.values()) + 1) + 0.9)
    axes = figure.subplots(1, len(estimators), squeeze=False, sharey=True, sharex=True)[0]
    for panel, estimator in zip(axes, estimators, strict=True):
        plain(panel)
        panel.grid(axis="x", color=GRID, linewidth=0.6)
        panel.axvline(0, color=DARK, linewidth=1)
        for figures in compared:
            if figures.arm.estimator == estimator and figures.difference is not None:
                _whisker(panel, places[figures.arm.label], figures.difference, colour_of(figures.arm))
        panel.set_yticks(list(places.values()), labels)
        panel.tick_params(axis="y", length=0)
        panel.set_ylim(max(places.values()) + 0.7, -0.7)
        panel.set_xlabel("difference in held-out score", fontsize=9, color=INK)
        if len(estimators) > 1:
            panel.set_title(estimator, loc="left", fontsize=10, color=INK)
    return figure


def _whisker(panel: Axes, place: float, interval: Interval, colour: str) -> None:
    panel.plot([interval.low, interval.high], [place, place], color=colour, linewidth=1.8, solid_capstyle="round")
    inside = "white" if interval.holds_zero else colour
    panel.plot(interval.mean, place, "o", markersize=6, color=colour, markerfacecolor=inside, markeredgewidth=1.5)


def lags(arms: Sequence[ArmFigures], estimators: Sequence[str]) -> Figure:
    """Shares of measurements by realised lag, arm by arm, a panel for each estimator."""
    labels, places = _places(arms)
    figure = new_figure(2.6 + 3.0 * len(estimators), 0.27 * (max(places.values()) + 1) + 1.15)
    axes = figure.subplots(1, len(estimators), squeeze=False, sharey=True)[0]
    for panel, estimator in zip(axes, estimators, strict=True):
        for f in arms:
            if f.arm.estimator == estimator and f.lags:
                _bar(panel, places[f.arm.label], f)
        plain(panel, frame=False)
        panel.set_xlim(0, 1)
        panel.set_xticks([0, 0.5, 1], ["0", "50 %", "100 %"])
        panel.set_yticks(list(places.values()), labels)
        panel.tick_params(length=0)
        panel.set_ylim(max(places.values()) + 0.7, -0.7)
        if len(estimators) > 1:
            panel.set_title(estimator, loc="left", fontsize=10, color=INK)
    handles, names = _lag_legend(arms)
    figure.legend(
        handles, names, loc="outside upper right", ncols=len(names), frameon=False, fontsize=8, labelcolor=INK,
        handlelength=0.9, handleheight=0.9, columnspacing=1.2, title="lag in updates", title_fontsize=8,
    )  # fmt: skip
    return figure


def _bar(panel: Axes, place: float, figures: ArmFigures) -> None:
    total, left = figures.lags.total(), 0.0
    for number, (low, high) in enumerate(LAGS):
        share = sum(count for lag, count in figures.lags.items() if low <= lag <= high) / total
        if not share:
            continue
        face, ink = lag_colour(number / (len(LAGS) - 1))
        panel.barh(place, share, left=left, height=0.72, color=face, edgecolor="white", linewidth=0.8)
        if share >= 0.09:
            panel.text(left + share / 2, place, f"{share:.0%}", ha="center", va="center", fontsize=7, color=ink)
        left += share


def _lag_legend(arms: Sequence[ArmFigures]) -> tuple[list[Patch], list[str]]:
    from matplotlib.patches import Patch

    seen = {lag for figures in arms for lag in figures.lags}
    handles: list[Patch] = []
    names = []
    for number, (low, high) in enumerate(LAGS):
        if any(low <= lag <= high for lag in seen):
            handles.append(Patch(facecolor=lag_colour(number / (len(LAGS) - 1))[0]))
            names.append(
                str(low) if low == high else f"{low} to {min(high, max(seen))}" if low < max(seen) else str(low)
            )
    return handles, names


def _places(arms: Sequence[ArmFigures]) -> tuple[list[str], dict[str, float]]:
    """Labels of arms from top to bottom, and where they stand: a little apart from family to family."""
    places: dict[str, float] = {}
    place, family = 0.0, ""
    for figures in arms:
        if figures.arm.label not in places:
            place += 0.0 if not places else 1.0 if family_of(figures.arm) == family else 1.45
            places[figures.arm.label], family = place, family_of(figures.arm)
    return list(places), places
