"""`aes train`: plan, warm start, engines, run, result; each shown as it happens."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

from rich.console import Console

from aes.errors import ConfigError, EngineError
from aes.runtime import Run
from cli import assemble, plan, report, signals
from cli.board import Board
from cli.errors import Interrupted, Refused
from cli.live import LiveView
from cli.plain import PlainView
from cli.plan import Plan
from cli.results import results
from cli.terminal import quiet

View = LiveView | PlainView


def train(given: dict[str, Any], *, live: bool) -> None:
    """Train as the user asked. Raises AesError; Interrupted once everything is closed."""
    with quiet() as terminal:
        drawn = plan.draw(given, thorough=False)
        console = terminal.console
        console.print(report.headline(drawn))
        log = drawn.folder / "engine.log"
        try:
            terminal.chatter_to(log)
        except OSError as error:
            raise ConfigError(f"--run-dir {drawn.folder}: cannot be written to ({error.strerror})") from None
        view = LiveView(console) if live and console.is_terminal else PlainView(console)
        try:
            _train(drawn, view, console)
        except EngineError as error:
            error.add_note(f"(what the engine said is in {log})")
            raise
        except (Interrupted, KeyboardInterrupt) as stop:
            number = stop.number if isinstance(stop, Interrupted) else 2
            begun = (drawn.folder / "journal.jsonl").exists()
            done = f"what was done so far is in {drawn.folder}" if begun else "nothing had been trained yet"
            raise Interrupted(number, f"; {done}") from None


def dry_run(given: dict[str, Any]) -> None:
    """Print what `train` would do. Raises Refused with everything that speaks against it."""
    with quiet() as terminal:
        drawn = plan.draw(given, thorough=True)
        terminal.console.print(report.dry_run(drawn))
        if drawn.complaints:
            raise Refused(drawn.complaints)


def _train(drawn: Plan, view: View, console: Console) -> None:
    assert drawn.catalog is not None
    if drawn.settings.kind == "pocket policy" and not assemble.pocket_made(drawn.settings, drawn.catalog):
        with view.working("warm start of the pocket policy") as progress:
            drawn.model = assemble.open_model(drawn.settings, drawn.catalog, progress)
        drawn.engine = assemble.open_engine(drawn.settings, drawn.model)
    signals.run(_play(drawn, view, console), console.print)


async def _play(drawn: Plan, view: View, console: Console) -> None:
    """Open engines, run, tell what it came to, close engines."""
    settings, task, engine = drawn.settings, drawn.task, drawn.engine
    assert task is not None
    assert engine is not None
    run = Run(task, engine, settings.config, drawn.folder, about=settings)

    def load() -> list[tuple[str, int]]:
        return [(device, seated) for device, (_, seated) in zip(settings.devices, engine.load, strict=True)]

    async with AsyncExitStack() as stack:
        with view.working(f"starting {settings.engine} on {', '.join(settings.devices)}"):
            await stack.enter_async_context(engine)
        with view.working("making version 0 and proving that adapters are applied"):
            await stack.enter_async_context(run)
        title = f"[bold]aes[/] {settings.task}, {settings.kind}, {settings.config.schedule_name}, seed {settings.seed}"
        await view.follow(run, Board(title, settings.config, run.metrics, load, settings.slots))
        console.print(results(run.metrics.evaluations, drawn.folder))
