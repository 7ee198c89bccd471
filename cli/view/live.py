"""The live view of a run: one frame, drawn a few times a second, the last of which stays."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterable, Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.panel import Panel
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from aes.errors import raise_bare
from aes.events import Event
from aes.metrics import interval, wilson
from cli.view.board import Board, engine_words
from cli.view.chart import bar, curve

PERIOD_S = 0.25
_CHART_HEIGHT = 6
_CHART_WIDTH = 40
_BESIDE_CHART = 7 + 3 + 38  # the axis, a gap and the numbers
_MOST_LAGS = 6


class LiveView:
    """Progress bars before the run, then its frame."""

    def __init__(self, console: Console) -> None:
        self.console = console

    @contextmanager
    def working(self, what: str) -> Iterator[Callable[[str, float], None]]:
        """Show that something takes its time; the callback takes what is done now and the share that is done."""
        columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
        # Rich would print what libraries say above its bars; it belongs in the log.
        ours = Progress(*columns, console=self.console, transient=True, redirect_stdout=False, redirect_stderr=False)
        with ours as progress:
            task = progress.add_task(what, total=None)
            yield lambda words, share: progress.update(task, description=f"{what}: {words}", total=1.0, completed=share)

    async def follow(self, events: AsyncIterable[Event], board: Board) -> None:
        """Draw a run until its events end, or until cancelled."""
        picture = Live(
            frame(board),
            console=self.console,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        with picture as live:
            try:
                async with asyncio.TaskGroup() as group:
                    ticker = group.create_task(_tick(live, board))
                    async for event in events:
                        board.note(event)
                    ticker.cancel()
            except BaseExceptionGroup as group:
                raise_bare(group)
            finally:
                live.update(frame(board), refresh=True)


async def _tick(live: Live, board: Board) -> None:
    while True:
        live.update(frame(board), refresh=True)
        await asyncio.sleep(PERIOD_S)


def frame(board: Board) -> RenderableType:
    """One picture of a run, 80 to 100 columns wide."""
    lower = Table.grid(padding=(0, 4), expand=True)
    lower.add_column(ratio=2)
    lower.add_column(ratio=3)
    lower.add_row(_lags(board), _engines(board))
    body = Group(_progress(board), Text(), _Learning(board), Text(), lower, Text(), _counts(board), *_warnings(board))
    return Panel(body, title=board.title, title_align="left", border_style="cyan", width=None, padding=(0, 1))


def _progress(board: Board) -> RenderableType:
    done, total = board.metrics.version, board.config.updates
    left = "" if board.left is None else f", {clock(board.left)} left" if done < total else ""
    row = Table.grid(padding=(0, 2), expand=True)
    row.add_column(no_wrap=True)
    row.add_column(ratio=1)
    row.add_column(no_wrap=True, justify="right")
    label = Text.assemble("update ", (f"{done}", "bold"), f" of {total}")
    row.add_row(label, bar(done / total, 40, "green"), f"{done / total:.0%}   {clock(board.elapsed)} gone{left}")
    return row


class _Learning:
    """The curve with the numbers of its latest point beside it."""

    def __init__(self, board: Board) -> None:
        self._board = board

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        metrics, updates = self._board.metrics, self._board.config.updates
        width = max(min(_CHART_WIDTH, options.max_width - _BESIDE_CHART), 10)
        held_out = {version: interval(list(e.scores))[0] for version, e in metrics.evaluations.items()}
        lines = curve(metrics.fitness, held_out, updates, width, _CHART_HEIGHT)
        axis = Text(f"{'0':>8}{'updates':^{width - 5}}{updates:>4}", style="dim")
        row = Table.grid(padding=(0, 3))
        row.add_row(Group(*lines, axis), Group(*_latest(self._board)))
        yield row


def _latest(board: Board) -> Iterator[Text]:
    metrics = board.metrics
    if metrics.evaluations:
        version, latest = max(metrics.evaluations.items())
        mean, half = interval(list(latest.scores))
        goals = len(latest.scores) - latest.failures
        low, high = wilson(latest.successes, goals)
        yield Text.assemble(("● held out", "bold green"), f"  {mean:.3f} ± {half:.3f}  at v{version}")
        yield Text(f"  success   {latest.successes / max(goals, 1):.1%}  ({low:.1%} to {high:.1%})")
        yield from _since_base(board, version, mean)
    else:
        yield Text.assemble(("● held out", "bold green"), "  being measured")
    if metrics.fitness:
        yield Text.assemble(("█ fitness", "cyan"), f"   {metrics.fitness[-1]:.3f}  in the last update")
        yield Text(f"  spread    {metrics.deviation[-1]:.3f}  within it", style="dim")


def _since_base(board: Board, version: int, mean: float) -> Iterator[Text]:
    base = board.metrics.evaluations.get(0)
    if base is not None and version > 0:
        start = interval(list(base.scores))[0]
        gain = mean - start
        style = "green" if gain > 0 else "yellow"
        yield Text.assemble(f"  base      {start:.3f}  ", (f"{gain:+.3f}", style))


def _lags(board: Board) -> RenderableType:
    lags, total = board.metrics.lags, sum(board.metrics.lags.values())
    title = Text.assemble(("lag", "bold"), ("  realised, in updates", "dim"))
    shown = sorted(lag for lag, _ in lags.most_common(_MOST_LAGS))
    rows = [(str(lag), lags[lag] / total) for lag in shown]
    if rest := total - sum(lags[lag] for lag in shown):
        rows.append(("other", rest / total))
    table = Table.grid(padding=(0, 1))
    for name, share in rows:
        table.add_row(Text(f"{name:>3}"), bar(share, 16, "magenta"), f"{share:.0%}")
    return Group(title, table if rows else Text("  nothing consumed yet", style="dim"))


def _engines(board: Board) -> RenderableType:
    title = Text.assemble(("engines", "bold"), ("  members in flight", "dim"))
    table = Table.grid(padding=(0, 1))
    for device, seated in board.load():
        members = min(seated, board.slots)
        if device in board.down:
            table.add_row(f"  {device}", Text("lost", style="bold yellow"))
            continue
        note = f"{members}/{board.slots}" + (" + evaluation" if seated > board.slots else "")
        table.add_row(f"  {device}", bar(members / board.slots, 16, "blue"), note)
    return Group(title, table, Text(f"  {board.idle_words}", style="dim"))


def _counts(board: Board) -> RenderableType:
    metrics, (episodes, tokens) = board.metrics, board.speed()
    table = Table.grid(padding=(0, 2))
    table.add_row(
        Text("speed", style="bold"),
        f"{episodes:,.1f} episodes/s   {tokens:,.0f} tokens/s   so far {metrics.episodes:,} and {big(metrics.tokens)}",
    )
    dropped = f"   {metrics.dropped} dropped, {metrics.wasted_seconds:,.0f} s of play lost" if metrics.dropped else ""
    words = f"{board.failure_words}   {metrics.skipped} updates skipped{dropped}"
    style = "yellow" if metrics.failures or metrics.dropped else ""
    table.add_row(Text("trouble", style="bold"), Text(words, style=style))
    if board.last_failure:
        table.add_row(
            Text("  last", style="dim"), Text(board.last_failure, style="dim", no_wrap=True, overflow="ellipsis")
        )
    return table


def _warnings(board: Board) -> Iterator[Text]:
    for event in board.down.values():
        yield Text(f"! {engine_words(event)}", style="bold yellow", no_wrap=True, overflow="ellipsis")
    if board.warning:
        yield Text(f"! {board.warning}", style="bold yellow")


def clock(seconds: float) -> str:
    """Minutes and seconds, or hours and minutes."""
    whole = math.ceil(seconds)
    return f"{whole // 60}:{whole % 60:02d}" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def big(number: float) -> str:
    """A count in at most five characters."""
    for unit in ("", " k", " M", " G"):
        if number < (1000 if unit else 10_000) or unit == " G":
            break
        number /= 1000
    return f"{number:,.0f}{unit}" if not unit or number >= 100 else f"{number:.1f}{unit}"
