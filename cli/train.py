"""`aes train` and `aes fork`: plan, warm start, engines, run, result; each shown as it happens."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from aes.errors import ConfigError
from aes.past import Past
from aes.runtime import Run
from cli import assemble, plan, tasks
from cli.errors import Refused
from cli.plan import Plan
from cli.recorded import Recorded
from cli.session import View, follow, listeners, view_of
from cli.view import report
from cli.view.terminal import quiet

if TYPE_CHECKING:
    from aes.engine.pool import Pool
    from aes.protocols import Task


def train(given: dict[str, Any], *, live: bool, parent: Past | None = None, at: int = 0) -> None:
    """Train as the user asked, from version `at` of a parent run where there is one.

    Raises AesError; Interrupted once everything is closed.
    """
    with quiet() as terminal:
        console = terminal.console
        view = view_of(console, live)
        with view.working("reading data and model"):
            drawn = plan.draw(given, thorough=False)
        console.print(report.headline(drawn))
        try:
            terminal.chatter_to(drawn.folder / "engine.log")
        except OSError as error:
            raise ConfigError(f"--run-dir {drawn.folder}: cannot be written to ({error.strerror})") from None
        _train(drawn, view, parent, at)


def fork(folder: Path, at: int | None, given: dict[str, Any], *, live: bool) -> None:
    """Train on from a version of a run (None: its last), with its settings but for those given."""
    recorded = Recorded.read(folder)
    version = recorded.version(at, "--at")
    inherited = recorded.given
    if tasks.is_own(str(given.get("task", tasks.WEBSHOP))):
        inherited = {name: value for name, value in inherited.items() if name not in tasks.WEBSHOP_ONLY}
    train(inherited | given, live=live, parent=recorded.past, at=version)


def dry_run(given: dict[str, Any]) -> None:
    """Print what `train` would do. Raises Refused with everything that speaks against it."""
    with quiet() as terminal:
        drawn = plan.draw(given, thorough=True)
        terminal.console.print(report.dry_run(drawn))
        if drawn.complaints:
            raise Refused(drawn.complaints)


def ready(drawn: Plan, view: View) -> tuple[Task, Pool]:
    """A plan's task and engines, not started yet; a pocket policy that is not there is made first. Raises DataError."""
    catalog = drawn.catalog if drawn.settings.kind == "pocket policy" else None
    if catalog is not None and not assemble.pocket_made(drawn.settings, catalog):
        with view.working("warm start of the pocket policy") as progress:
            drawn.model = assemble.open_model(drawn.settings, catalog, progress)
        drawn.engine = assemble.open_engine(drawn.settings, drawn.model)
    assert drawn.task is not None
    assert drawn.engine is not None
    return drawn.task, drawn.engine


def _train(drawn: Plan, view: View, parent: Past | None, at: int) -> None:
    task, engine = ready(drawn, view)
    settings, folder = drawn.settings, drawn.folder
    with listeners(settings, folder) as heard_by:

        def make() -> Run:
            if parent is not None:
                return Run.fork(parent, at, task, engine, settings.config, folder, settings, heard_by)
            return Run(task, engine, settings.config, folder, settings, listeners=heard_by)

        follow(make, engine, settings, folder, view)
