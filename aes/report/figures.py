"""The figures of a report: for every arm, scores with their intervals, staleness as it was, and cost."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

import numpy as np

from aes.report.read import Material, RunRecord
from aes.study.grid import Arm
from aes.study.statistics import NONE, Interval, Scores, bootstrap

CURVE_DRAWS = 2_000


@dataclass(frozen=True)
class ArmFigures:
    """One row of a report; seconds are means over seeds.

    Attributes:
        seeds: those whose runs are finished.
        curve: held-out score by version.
        final, success: score and success rate of the last version.
        best_version: the one with the highest mean over seeds, chosen on the very goals that it is judged by.
        best, best_success: score and success rate of that.
        difference: final score less that of the synchronous arm of the same estimator, by seed and goal; None there.
        lags: realised lag -> measurements consumed at it, over all seeds.
        moved: mean distance, over sigma, that the centre had moved when a stale measurement was consumed; nan for none.
        episodes: evaluations of members, a run.
        idle: share of the players' time without a member to play.
        discarded_seconds, discarded: play time that was thrown away, a run, and its share of all play time.
        skipped: updates whose fitness was all equal, a run.
        failures: episodes that failed for good, a run.
    """

    arm: Arm
    seeds: tuple[int, ...]
    curve: dict[int, Interval]
    final: Interval
    success: Interval
    best_version: int
    best: Interval
    best_success: Interval
    difference: Interval | None
    lags: Counter[int]
    moved: float
    episodes: float
    seconds: float
    idle: float
    discarded_seconds: float
    discarded: float
    skipped: float
    failures: float

    @property
    def stale(self) -> float:
        """Share of measurements that were stale."""
        return 1 - self.lags[0] / max(self.lags.total(), 1)

    @property
    def lag(self) -> float:
        """Mean realised lag, in updates."""
        return sum(lag * count for lag, count in self.lags.items()) / max(self.lags.total(), 1)


def figures(material: Material) -> list[ArmFigures]:
    """The figures of every arm, in the order of the grid."""
    return [_of(arm, runs, _reference(arm, material)) for arm, runs in material.runs.items()]


def _reference(arm: Arm, material: Material) -> list[RunRecord]:
    """The runs that an arm is compared with; none for the synchronous arm itself."""
    if arm.kind == "synchronous":
        return []
    return material.runs.get(Arm("synchronous", arm.estimator), [])


def _of(arm: Arm, runs: Sequence[RunRecord], reference: Sequence[RunRecord]) -> ArmFigures:
    versions = sorted(set.intersection(*(set(run.scores) for run in runs)))
    means = {version: _mean(scores(runs, version)) for version in versions}
    last, best = versions[-1], max(versions, key=lambda version: (means[version], -version))
    of_mean = partial(_average, runs)
    busy, discarded = of_mean(lambda run: run.busy_seconds), of_mean(lambda run: run.metrics.wasted_seconds)
    idle = sum(run.idle_seconds for run in runs) / max(sum(run.update_seconds for run in runs), 1e-9)
    moved = [distance for run in runs for distance in run.moved]
    return ArmFigures(
        arm=arm,
        seeds=tuple(run.seed for run in runs),
        curve={version: bootstrap(scores(runs, version), CURVE_DRAWS) for version in versions},
        final=bootstrap(scores(runs, last)),
        success=bootstrap(solved(runs, last)),
        best_version=best,
        best=bootstrap(scores(runs, best)),
        best_success=bootstrap(solved(runs, best)),
        difference=difference(runs, reference, last),
        lags=sum((run.metrics.lags for run in runs), Counter[int]()),
        moved=fmean(moved) if moved else math.nan,
        episodes=of_mean(lambda run: run.metrics.episodes),
        seconds=of_mean(lambda run: run.seconds),
        idle=idle,
        discarded_seconds=discarded,
        discarded=discarded / max(busy + discarded, 1e-9),
        skipped=of_mean(lambda run: run.metrics.skipped),
        failures=of_mean(lambda run: run.metrics.failures),
    )


def scores(runs: Iterable[RunRecord], version: int) -> Scores:
    """Held-out scores of a version [seeds, goals]."""
    return np.stack([run.scores[version] for run in runs])


def solved(runs: Iterable[RunRecord], version: int) -> Scores:
    """Whether held-out goals succeeded [seeds, goals]."""
    return np.stack([run.solved[version] for run in runs])


def difference(runs: Sequence[RunRecord], reference: Sequence[RunRecord], version: int) -> Interval | None:
    """Scores less those of the same seed and goal in the reference; None where there is none."""
    if not reference:
        return None
    other = {run.seed: run for run in reference if version in run.scores}
    both = [(run, other[run.seed]) for run in runs if run.seed in other]
    if not both:
        return NONE
    return bootstrap(np.stack([run.scores[version] - base.scores[version] for run, base in both]))


def _mean(values: Scores) -> float:
    there = values[~np.isnan(values)]
    return float(there.mean()) if there.size else -math.inf


def _average(runs: Sequence[RunRecord], of: Callable[[RunRecord], float]) -> float:
    return fmean(of(run) for run in runs)
