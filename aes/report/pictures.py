"""The pictures of a report, each as SVG and as PNG; drawn with matplotlib's objects, never its pyplot."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aes.errors import UsageError
from aes.report.by_arm import differences, lags
from aes.report.curves import curves
from aes.report.figures import ArmFigures
from aes.report.heat_map import heat_map

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 200


@dataclass(frozen=True)
class Picture:
    """A picture in both forms, its title, and how to read it."""

    name: str
    title: str
    caption: str
    svg: str
    png: bytes


def pictures(arms: Sequence[ArmFigures]) -> list[Picture]:
    """Every picture that these arms give. Raises UsageError where matplotlib is not installed."""
    if importlib.util.find_spec("matplotlib") is None:
        raise UsageError("matplotlib is not installed (pip install 'aes-runtime[report]')")
    return list(_pictures(arms))


def _pictures(arms: Sequence[ArmFigures]) -> Iterator[Picture]:
    estimators = list(dict.fromkeys(figures.arm.estimator for figures in arms))
    for estimator in estimators:
        these = [figures for figures in arms if figures.arm.estimator == estimator]
        name = "curves" if len(estimators) == 1 else f"curves-{estimator}"
        of = "" if len(estimators) == 1 else f", {estimator}"
        caption = "Mean over seeds on the held-out goals; bands are 95 % intervals over seeds and goals."
        yield _picture(name, f"Learning curves{of}", caption, curves(these))
    if any(figures.difference for figures in arms):
        caption = "Final score less that of the synchronous arm, paired by seed and goal, with its 95 % interval."
        caption += " Hollow: the interval holds zero, so the difference may be none."
        yield _picture("differences", "Against synchronous", caption, differences(arms, estimators))
    if len({figures.arm.lag for figures in arms if figures.arm.kind == "controlled"}) > 1:
        caption = "The same differences by lag and share of stale measurements, with their 95 % intervals."
        caption += " Bold: the interval leaves zero out."
        yield _picture("heat-map", "What lag and stale share cost", caption, heat_map(arms, estimators))
    caption = "Share of all consumed measurements by the lag that they had, in updates."
    yield _picture("lags", "Lags as they were", caption, lags(arms, estimators))


def _picture(name: str, title: str, caption: str, figure: Figure) -> Picture:
    """Both forms of a figure; equal figures give equal bytes."""
    import matplotlib as mpl

    svg, png = io.StringIO(), io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "aes", "svg.fonttype": "path"}):
        figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    figure.savefig(png, format="png", dpi=DPI, metadata={"Software": None})
    return Picture(name, title, caption, svg.getvalue(), png.getvalue())
