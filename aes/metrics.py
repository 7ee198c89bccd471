"""Running totals of a run, read from its events: what the live view shows and `metrics.jsonl` keeps."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aes.events import Dropped, EpisodeFailed, Evaluated, Event, Measured, Updated


@dataclass
class Metrics:
    """Listens to a run's events. Everything it keeps grows with updates and evaluations only.

    Attributes:
        lags: realised lag -> measurements consumed at it.
        fitness: per update, the mean fitness of the members it consumed.
        deviation: per update, the spread the estimator divided by.
        evaluations: version -> its evaluation.
        wasted_seconds: play time of proposals that were dropped or void.
    """

    file: Path | None = None
    version: int = 0
    episodes: int = 0
    successes: int = 0
    failures: int = 0
    turns: int = 0
    tokens: int = 0
    skipped: int = 0
    dropped: int = 0
    wasted_seconds: float = 0.0
    idle: float = 0.0
    last_failure: str = ""
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
            case Evaluated():
                self.evaluations[event.version] = event
            case Dropped():
                self.dropped += 1
                self.wasted_seconds += event.seconds
            case EpisodeFailed():
                self.last_failure = event.reason

    def _measured(self, event: Measured) -> None:
        measurement = event.measurement
        self.episodes += measurement.episodes
        self.successes += measurement.successes
        self.failures += measurement.failures
        self.turns += measurement.turns
        self.tokens += measurement.tokens

    def _updated(self, event: Updated) -> None:
        self.version = event.update.version + 1
        self.skipped += event.skipped
        self.idle = event.idle
        self.lags.update(event.lags)
        self.fitness.append(event.fitness)
        self.deviation.append(event.deviation)
        if self.file is not None:
            with self.file.open("a", encoding="utf-8") as out:
                out.write(json.dumps(self._row(event)) + "\n")

    def _row(self, event: Updated) -> dict[str, Any]:
        lags = event.lags
        return {
            "version": self.version,
            "fitness": event.fitness,
            "deviation": event.deviation,
            "skipped": event.skipped,
            "lag_mean": sum(lags) / len(lags),
            "lag_max": max(lags),
            "stale_share": sum(lag > 0 for lag in lags) / len(lags),
            "moved_over_sigma": max((m for m in event.moved.values() if not math.isnan(m)), default=0.0),
            "seconds": event.seconds,
            "idle": event.idle,
            "episodes": self.episodes,
            "failures": self.failures,
            "tokens": self.tokens,
            "turns": self.turns,
        }


def interval(scores: list[float], z: float = 1.96) -> tuple[float, float]:
    """Mean and half-width of its 95 % interval (normal approximation over goals); nan scores are left out."""
    good = [score for score in scores if not math.isnan(score)]
    if not good:
        return math.nan, math.nan
    mean = sum(good) / len(good)
    variance = sum((score - mean) ** 2 for score in good) / max(len(good) - 1, 1)
    return mean, z * math.sqrt(variance / len(good))


def wilson(successes: int, trials: int, z: float = 1.96) -> tuple[float, float]:
    """The Wilson score interval of a success rate (Wilson 1927), sound at 0 and 1 too."""
    if trials == 0:
        return math.nan, math.nan
    rate, square = successes / trials, z * z / trials
    middle = (rate + square / 2) / (1 + square)
    half = z * math.sqrt(rate * (1 - rate) / trials + square / (4 * trials)) / (1 + square)
    return max(0.0, middle - half), min(1.0, middle + half)
