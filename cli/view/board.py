"""What a view shows of a run: its events boiled down to the few numbers a person watches."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from aes.config import Config
from aes.events import EngineDown, EngineUp, Event, Updated
from aes.metrics import Metrics
from cli.view.safe_text import safe

WINDOW_S = 20.0
"""Seconds over which speed is averaged."""

SKIPS_TO_WARN = 3
"""Skipped updates in a row from which sigma is called too small."""

IDLE_SHARE = 0.15
"""Share of the players' time without a member from which they are said to wait."""


@dataclass
class Board:
    """Reads a run's metrics and engine load; fed with its events.

    Attributes:
        load: gives each device with the members seated there now.
        slots: training members that fit on one engine.
        clock: seconds, from any start.
        down: engines that are lost, by device.
    """

    title: str
    config: Config
    metrics: Metrics
    load: Callable[[], Sequence[tuple[str, int]]]
    slots: int
    clock: Callable[[], float] = time.monotonic
    skipped_in_a_row: int = 0
    down: dict[str, EngineDown] = field(default_factory=dict)
    began: float = field(init=False)
    _seconds: deque[float] = field(default_factory=lambda: deque(maxlen=10))
    _last_update: float = field(init=False)
    _samples: deque[tuple[float, int, int]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.began = self._last_update = self.clock()
        self._samples.append((self.began, 0, 0))

    def note(self, event: Event) -> None:
        """Take in one event; the run's metrics have it already."""
        if isinstance(event, Updated):
            self.skipped_in_a_row = self.skipped_in_a_row + 1 if event.skipped else 0
            self._last_update = self.clock()
            self._seconds.append(event.seconds)
        elif isinstance(event, EngineDown):
            self.down[event.device] = event
        elif isinstance(event, EngineUp):
            self.down.pop(event.device, None)

    @property
    def elapsed(self) -> float:
        """Seconds since the run began."""
        return self.clock() - self.began

    @property
    def left(self) -> float | None:
        """Seconds that the remaining updates will take at the pace of the last ten; None before the first."""
        if not self._seconds:
            return None
        pace = sum(self._seconds) / len(self._seconds)
        remaining = self.config.updates - self.metrics.version
        return max(0.0, remaining * pace - min(pace, self.clock() - self._last_update)) if remaining else 0.0

    def speed(self) -> tuple[float, float]:
        """Episodes and tokens a second over the last moments; call it regularly."""
        now = self.clock()
        self._samples.append((now, self.metrics.episodes, self.metrics.tokens))
        while len(self._samples) > 2 and now - self._samples[1][0] > WINDOW_S:
            self._samples.popleft()
        then, episodes, tokens = self._samples[0]
        span = max(now - then, 1e-9)
        return (self.metrics.episodes - episodes) / span, (self.metrics.tokens - tokens) / span

    @property
    def idle_words(self) -> str:
        """Which side waits for the other."""
        share = self.metrics.idle
        if not self.metrics.version:
            return "first update under way"
        if share < IDLE_SHARE:
            return f"players wait {share:.0%}: the engines are busy"
        if self.config.max_lag == 0:
            return f"players wait {share:.0%} for updates: synchronous"
        return f"players wait {share:.0%} for room under the bound"

    @property
    def failure_words(self) -> str:
        """How many episodes failed for good, of which kinds, and how many tries were made again."""
        metrics = self.metrics
        kinds = ", ".join(f"{count} {kind}" for kind, count in metrics.failures_by_kind.most_common())
        again = f", {metrics.retried} tried again" if metrics.retried else ""
        return f"{metrics.failures} failed" + (f" ({kinds})" if kinds else "") + again

    @property
    def last_failure(self) -> str:
        """Why the last try failed, as one safe line; nothing while none has."""
        return safe(self.metrics.last_failures[-1]) if self.metrics.last_failures else ""

    @property
    def warning(self) -> str:
        """What the user should do something about, or nothing."""
        if self.skipped_in_a_row >= SKIPS_TO_WARN:
            count, sigma = self.skipped_in_a_row, self.config.sigma
            return f"all fitness equal in {count} updates in a row: sigma {sigma:g} is too small (raise --sigma)"
        return ""


def engine_words(event: EngineDown | EngineUp) -> str:
    """The loss or the return of an engine, as one safe line."""
    if isinstance(event, EngineUp):
        return f"engine {event.device} is back after {event.seconds:.1f} s"
    if not event.restarts:
        return f"engine {event.device} is lost for good: {safe(event.reason)}"
    left = f"{event.restarts} restarts" if event.restarts > 1 else "1 restart"
    return f"engine {event.device} is lost, opening it again ({left} left): {safe(event.reason)}"
