"""Running totals of a run, read from its events: what the live view shows and `metrics.jsonl` keeps.

Every metric that depends on goals is named after its split: train/fitness, test/score.
"""

from __future__ import annotations

import json
import math
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from aes.errors import UsageError
from aes.events import Dropped, EngineDown, EpisodeFailed, Evaluated, Event, Measured, Updated
from aes.journal import writing


class Best(NamedTuple):
    """The version of the highest mean score so far, the first among equals, and that score."""

    version: int
    score: float


@dataclass
class Metrics:
    """Listens to a run's events. Everything it keeps grows with updates and evaluations only.

    Attributes:
        lags: realised lag -> measurements consumed at it.
        fitness: per update, the mean fitness of the members it consumed.
        deviation: per update, the spread the estimator divided by.
        evaluations: version -> its evaluation.
        failures_by_kind: kind -> episodes that failed for good.
        retried: tries that failed and were made again.
        last_failures: the reasons of the last few, the newest at the end.
        wasted_seconds: play time of proposals that were dropped or void.
        engines_lost: how often an engine died, hung or could not be opened again.
    """

    file: Path | None = None
    version: int = 0
    episodes: int = 0
    successes: int = 0
    retried: int = 0
    turns: int = 0
    tokens: int = 0
    skipped: int = 0
    dropped: int = 0
    wasted_seconds: float = 0.0
    engines_lost: int = 0
    idle: float = 0.0
    last_failures: deque[str] = field(default_factory=lambda: deque(maxlen=5))
    failures_by_kind: Counter[str] = field(default_factory=Counter)
    lags: Counter[int] = field(default_factory=Counter)
    fitness: list[float] = field(default_factory=list)
    deviation: list[float] = field(default_factory=list)
    evaluations: dict[int, Evaluated] = field(default_factory=dict)

    def __call__(self, event: Event) -> None:
        """Count one event; a listener for the bus."""
        match event:
            case Measured():
                self._measured(event)
            case Updated():
                self._updated(event)
                self._write(self.row(event))
            case Evaluated():
                self.evaluations[event.version] = event
                self._write(self.row(event))
            case Dropped():
                self.dropped += 1
                self.wasted_seconds += event.seconds
            case EpisodeFailed():
                self._failed(event)
            case EngineDown():
                self.engines_lost += 1

    @property
    def best(self) -> Best | None:
        """The best version that was evaluated; None while there is none."""
        means = [Best(version, interval(list(e.scores))[0]) for version, e in sorted(self.evaluations.items())]
        return max((best for best in means if not math.isnan(best.score)), key=lambda best: best.score, default=None)

    @property
    def failures(self) -> int:
        """Episodes that failed for good."""
        return self.failures_by_kind.total()

    def _failed(self, event: EpisodeFailed) -> None:
        if event.excused:
            self.failures_by_kind[event.kind] += 1
        else:
            self.retried += 1
        self.last_failures.append(f"{event.kind}: {event.reason}")

    def _measured(self, event: Measured) -> None:
        measurement = event.measurement
        self.episodes += measurement.episodes
        self.successes += measurement.successes
        self.turns += measurement.turns
        self.tokens += measurement.tokens

    def _updated(self, event: Updated) -> None:
        self.version = event.update.version + 1
        self.skipped += event.skipped
        self.idle = event.idle
        self.lags.update(event.lags)
        self.fitness.append(event.fitness)
        self.deviation.append(event.deviation)

    def row(self, event: Updated | Evaluated) -> dict[str, Any]:
        """What `metrics.jsonl` keeps of an event that was just counted: plain values by name, "version" among them."""
        return self._update_row(event) if isinstance(event, Updated) else _evaluation_row(event)

    def summary(self) -> dict[str, Any]:
        """What it all came to, as plain values."""
        evaluations = [
            {"version": version, "split": e.split, **scores(e.scores, e.successes), "failures": e.failures}
            for version, e in sorted(self.evaluations.items())
        ]
        return {
            "version": self.version,
            "evaluations": evaluations,
            "lags": {str(lag): count for lag, count in sorted(self.lags.items())},
            "episodes": self.episodes,
            "failures": self.failures,
            "failures_by_kind": dict(self.failures_by_kind),
            "retried": self.retried,
            "last_failures": list(self.last_failures),
            "tokens": self.tokens,
            "skipped": self.skipped,
            "dropped": self.dropped,
            "wasted_seconds": self.wasted_seconds,
            "engines_lost": self.engines_lost,
        }

    def forget_file(self) -> None:
        """Begin the file anew, for a run whose events are told again from the start."""
        if self.file is not None:
            with writing(self.file) as path:
                path.unlink(missing_ok=True)

    def _write(self, row: Mapping[str, Any]) -> None:
        if self.file is not None:
            with writing(self.file) as path, path.open("a", encoding="utf-8") as out:
                out.write(json.dumps(row) + "\n")

    def _update_row(self, event: Updated) -> dict[str, Any]:
        lags = event.lags
        return {
            "version": self.version,
            "train/fitness": event.fitness,
            "train/deviation": event.deviation,
            "skipped": event.skipped,
            "lag_mean": sum(lags) / len(lags),
            "lag_max": max(lags),
            "stale_share": sum(lag > 0 for lag in lags) / len(lags),
            "moved_over_sigma": max((m for m in event.moved.values() if not math.isnan(m)), default=0.0),
            "seconds": event.seconds,
            "idle": event.idle,
            "train/episodes": self.episodes,
            "train/failures": self.failures,
            **{f"train/failures/{kind}": count for kind, count in self.failures_by_kind.items()},
            "train/tokens": self.tokens,
            "train/turns": self.turns,
        }


def _evaluation_row(event: Evaluated) -> dict[str, Any]:
    """The metrics of an evaluation, each named after its split."""
    good = [score for score in event.scores if not math.isnan(score)]
    values = {
        "score": sum(good) / len(good) if good else None,
        "success": event.successes / len(good) if good else None,
        "goals": len(event.scores),
        "failures": event.failures,
    }
    return {"version": event.version} | {f"{event.split}/{name}": value for name, value in values.items()}


def gain(evaluation: Evaluated, base: Evaluated) -> tuple[float, float]:
    """Mean and half-width of the 95 % interval of the differences, goal by goal.

    Where one played more goals, its first ones count. Raises UsageError for evaluations of unlike tasks: another
    catalogue, split, prompt or noun finder makes other scores.
    """
    then, now = base.task, evaluation.task
    unlike = [key for key in sorted({*then, *now}) if then.get(key) != now.get(key)]
    if unlike:
        shown = ", ".join(f"{key} {str(then.get(key))[:16]!r} and {str(now.get(key))[:16]!r}" for key in unlike)
        raise UsageError(f"evaluations of unlike tasks don't compare: {shown}; evaluate both on the same task")
    return interval([after - before for after, before in zip(evaluation.scores, base.scores, strict=False)])


def interval(scores: list[float], z: float = 1.96) -> tuple[float, float]:
    """Mean and half-width of its 95 % interval (normal approximation over goals); nan scores are left out."""
    good = [score for score in scores if not math.isnan(score)]
    if not good:
        return math.nan, math.nan
    mean = sum(good) / len(good)
    apart = [score - mean for score in good]
    variance = sum(d * d for d in apart) / max(len(good) - 1, 1)  # a power of a huge one would raise
    return mean, z * math.sqrt(variance / len(good))


def wilson(successes: int, trials: int, z: float = 1.96) -> tuple[float, float]:
    """The Wilson score interval of a success rate (Wilson 1927), sound at 0 and 1 too."""
    if trials == 0:
        return math.nan, math.nan
    rate, square = successes / trials, z * z / trials
    middle = (rate + square / 2) / (1 + square)
    half = z * math.sqrt(rate * (1 - rate) / trials + square / (4 * trials)) / (1 + square)
    return max(0.0, middle - half), min(1.0, middle + half)


def scores(values: tuple[float, ...], successes: int) -> dict[str, Any]:
    """Mean score and success rate with 95 % intervals; failed goals (nan) count in neither."""
    mean, half = interval(list(values))
    goals = sum(not math.isnan(value) for value in values)
    low, high = wilson(successes, goals)
    return {
        "goals": goals,
        "score": mean,
        "score_95": [mean - half, mean + half],
        "success": successes / goals if goals else math.nan,
        "success_95": [low, high],
    }
