"""One run on the terminal, from opening its engines to what it came to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

from rich.console import Console

from aes.errors import EngineError
from aes.events import Listener
from aes.protocols import Engine
from aes.runtime import Run
from aes.writers.tensorboard import TensorBoard
from cli import collector, signals
from cli.errors import Interrupted
from cli.settings import TrainSettings
from cli.view.board import Board
from cli.view.live import LiveView
from cli.view.plain import PlainView
from cli.view.results import results

View = LiveView | PlainView

GRACE = 30.0
"""Seconds that members in play get to finish when the user stops a run."""


def follow(make: Callable[[], Run], engine: Engine, settings: TrainSettings, folder: Path, view: View) -> None:
    """Open the engine, run, show and tell. Raises AesError, or Interrupted with how to go on."""
    try:
        signals.run(lambda stop: _follow(make, engine, settings, folder, view, stop), view.console.print)
    except EngineError as error:
        error.add_note(f"(what the engine said is in {folder / 'engine.log'})")
        raise
    except (Interrupted, KeyboardInterrupt) as stop:
        number = stop.number if isinstance(stop, Interrupted) else 2
        begun = (folder / "journal.jsonl").exists()
        where = f"; go on with: aes resume {folder}" if begun else "; nothing was begun yet"
        raise Interrupted(number, where) from None


@contextmanager
def listeners(settings: TrainSettings, folder: Path) -> Iterator[list[Listener]]:
    """Those who hear the events of a run beside its view, for as long as it goes on."""
    if not settings.tensorboard:
        yield []
        return
    with TensorBoard(folder / "tensorboard") as board:
        yield [board]


async def _follow(
    make: Callable[[], Run], engine: Engine, settings: TrainSettings, folder: Path, view: View, stop: signals.Stop
) -> None:
    def load() -> list[tuple[str, int]]:
        return [(device, seated) for device, (_, seated) in zip(settings.devices, engine.load, strict=True)]

    async with AsyncExitStack() as stack:
        with view.working(f"starting {settings.engine} on {', '.join(settings.devices)}"):
            await stack.enter_async_context(engine)
        run = make()
        with view.working("making the first version and proving that adapters are applied"):
            await stack.enter_async_context(run)
        stack.enter_context(collector.sparing())
        stop.gently = lambda: run.stop(GRACE)
        title = f"[bold]aes[/] {settings.task}, {settings.kind}, {settings.config.schedule_name}, seed {settings.seed}"
        await view.follow(run, Board(title, settings.config, run.metrics, load, settings.slots))
        if stop.number is not None and not run.finished:
            raise Interrupted(stop.number)
        view.console.print(results(run.metrics.evaluations, folder))


def view_of(console: Console, live: bool = True) -> View:
    """The live view on a terminal, log lines elsewhere."""
    return LiveView(console) if live and console.is_terminal else PlainView(console)
