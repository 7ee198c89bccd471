"""`aes resume`: go on with a run as if it had never ended."""

from __future__ import annotations

from pathlib import Path

from aes.errors import DataError
from aes.runtime import Run
from cli.recorded import Recorded
from cli.session import follow, listeners, view_of
from cli.view.terminal import quiet


def resume(folder: Path, devices: str | None, *, live: bool) -> None:
    """Go on with the run in a folder. Raises AesError; Interrupted once everything is closed."""
    recorded = Recorded.read(folder, devices)
    if recorded.past.finished:
        last = recorded.past.version
        raise DataError(f"run {folder}: it has finished, at version {last} (aes fork {folder} goes on from there)")
    with quiet() as terminal:
        terminal.chatter_to(folder / "engine.log")
        view = view_of(terminal.console, live)
        task, engine = recorded.open(view)
        view.console.print(f"aes resume {folder}: from version {recorded.past.version}", highlight=False)
        settings = recorded.settings
        with listeners(settings, folder) as heard_by:
            follow(lambda: Run.resume(task, engine, folder, heard_by), engine, settings, folder, view)
