"""`aes watch`: the view of a run that another process is making, from its journal alone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from aes.config import Config
from aes.events import Event, Measured
from aes.journal import Reader
from aes.lock import held
from aes.metrics import Metrics
from aes.past import Past
from cli import signals
from cli.errors import Interrupted
from cli.session import View, view_of
from cli.settings import kind_of
from cli.view.board import Board
from cli.view.results import results
from cli.view.safe_text import safe

POLL_S = 0.25
_AT_ONCE = 32  # events between two turns of the view


def watch(folder: Path, *, live: bool) -> None:
    """Show a run until it has finished. Raises DataError for what is no run; Interrupted, which leaves it alone."""
    view = view_of(Console(), live)
    try:
        signals.run(lambda stop: _watch(Watched(folder), view), lambda words: None)
    except Interrupted as stop:
        raise Interrupted(stop.number, "; the run is left alone") from None


class Watched:
    """A run folder that is read as it grows; it takes no lock, and writes nothing.

    Attributes:
        past: where the run stands.
        running: whether somebody was running it when it was last read.
    """

    def __init__(self, folder: Path) -> None:
        """Raises DataError, ConfigError for what is no run."""
        self._reader = Reader(folder)
        self.past, _ = Past.begin(self._reader)
        self.folder = folder
        self.metrics = Metrics()
        self.running, self._caught_up = held(folder), False
        config = Config.parse(self.past.about["config"])
        self._devices, self._slots = _engines(self.past, config)
        self.board = Board(_title(self.past, config), config, self.metrics, self._load, self._slots, self._clock)

    async def events(self, say: Callable[[str], None]) -> AsyncIterator[Event]:
        """Every event from the first, and further ones as they come; they end with the run.

        A run that stops meanwhile may be resumed: `say` is told, and its events are waited for. They end at once where
        nobody was running it from the first.
        """
        wait = self.running
        while True:
            running = held(self.folder)  # asked before reading: what was written last is then read
            self._caught_up = False
            for number, event in enumerate(self.past.catch_up(self._reader)):
                self.metrics(event)
                if isinstance(event, Measured):
                    self.board.speed()  # a sample for the frames to come
                yield event
                if number % _AT_ONCE == 0:
                    await asyncio.sleep(0)
            self._caught_up = True
            if self.past.finished or not (running or wait):
                self.running = False
                return
            if running != self.running:
                self.running = running
                go_on = f"it has stopped; waiting for: aes resume {safe(str(self.folder))} (Ctrl-C leaves)"
                say("it goes on" if running else go_on)
            await asyncio.sleep(POLL_S)

    def _clock(self) -> float:
        """Seconds on the run's own clock: that of the event being told, and on from the last one while it goes on."""
        if not (self.running and self._caught_up):
            return self.past.seconds
        return self.past.seconds + max(0.0, time.time() - self._reader.written)

    def _load(self) -> list[tuple[str, int]]:
        out = (proposal for index, proposal in self.past.open.items() if index not in self.past.arrived)
        return [(self._devices, min(sum(len(proposal.signs) for proposal in out), self._slots))]


async def _watch(watched: Watched, view: View) -> None:
    def say(words: str) -> None:
        view.console.print(words, markup=False, highlight=False, soft_wrap=True)

    await view.follow(watched.events(say), watched.board)
    say("")
    view.console.print(results(watched.metrics.evaluations, watched.folder))
    if not watched.past.finished:
        say(f"it is stopped, at version {watched.past.version}; go on with: aes resume {safe(str(watched.folder))}")


def _engines(past: Past, config: Config) -> tuple[str, int]:
    """The devices in a few characters, and the members that may play on all of them together."""
    about = past.about["about"] or {}
    names, slots = about.get("devices"), about.get("slots")
    devices = [str(name) for name in names] if isinstance(names, list) else [str(past.about["engine"].get("device"))]
    most = config.in_flight or (slots * len(devices) if isinstance(slots, int) else 0)
    words = safe(devices[0])[:12] if len(devices) == 1 else f"{len(devices)} engines"
    return words, max(most or config.capacity * len(config.signs), 1)


def _title(past: Past, config: Config) -> str:
    about = past.about["about"] or {}
    kind = f"{kind_of(str(about.get('engine')), str(about.get('model')))}, " if about else ""
    task = escape(safe(str(past.about["task"].get("name"))[:40]))
    return f"[bold]aes[/] {task}, {kind}{config.schedule_name}, seed {config.seed}"
