"""Log lines, where there is no terminal to draw on."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

from aes.events import Dropped, EngineDown, EngineUp, Evaluated, Event, Finished, Started, Updated
from aes.metrics import interval
from cli.view.board import Board, engine_words
from cli.view.safe_text import safe


class PlainView:
    """One line for each thing that happens."""

    def __init__(self, console: Console) -> None:
        self.console = console

    @contextmanager
    def working(self, what: str) -> Iterator[Callable[[str, float], None]]:
        """Say what begins, and every tenth of it that is done."""
        said = [0]
        self._say(what)

        def progress(words: str, share: float) -> None:
            if (tenth := int(share * 10)) != said[0]:
                said[0] = tenth
                self._say(f"{what}: {words} {tenth * 10} %")

        yield progress

    async def follow(self, events: AsyncIterable[Event], board: Board) -> None:
        """Write a run's lines until its events end, or until cancelled."""
        failed = board.failure_words
        async for event in events:
            board.note(event)
            for line in _lines(event, board):
                self._say(f"[{board.elapsed:7.1f} s] {line}")
            if isinstance(event, Updated) and board.failure_words != failed:
                failed = board.failure_words
                self._say(f"[{board.elapsed:7.1f} s] episodes: {failed}; the last: {board.last_failure}")

    def _say(self, line: str) -> None:
        self.console.print(line, markup=False, highlight=False, soft_wrap=True)


def _lines(event: Event, board: Board) -> Iterator[str]:
    match event:
        case Started():
            yield f"started: {event.dim:,} trained numbers, digest {event.digest[:12]}"
        case Updated():
            yield _updated(event, board)
            if board.warning:
                yield board.warning
        case Evaluated():
            mean, half = interval(list(event.scores))
            goals = len(event.scores) - event.failures
            yield (
                f"evaluated version {event.version}: score {mean:.3f} ± {half:.3f},"
                f" success {event.successes / max(goals, 1):.1%} of {goals} goals, {event.failures} failed"
                + (f" ({safe(event.why)})" if event.why else "")
            )
        case Dropped():
            yield f"dropped proposal {event.proposal.index} ({event.reason}), {event.seconds:.1f} s of play lost"
        case EngineDown() | EngineUp():
            yield engine_words(event)
        case Finished():
            yield "finished"
        case _:
            pass


def _updated(event: Updated, board: Board) -> str:
    episodes, tokens = board.speed()
    lag = sum(event.lags) / len(event.lags)
    return (
        f"update {event.update.version + 1}/{board.config.updates}: fitness {event.fitness:.3f},"
        f" spread {event.deviation:.3f}, lag {lag:.2f} (most {max(event.lags)}), {event.seconds:.1f} s,"
        f" {episodes:.1f} episodes/s, {tokens:.0f} tokens/s, idle {event.idle:.0%}"
        + (", skipped: all fitness equal" if event.skipped else "")
    )
