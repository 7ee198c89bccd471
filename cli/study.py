"""`aes study`: a grid of arms over one task and one base model, on engines that are opened once."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from aes.engine.pool import Pool
from aes.errors import ConfigError, DataError, EngineError
from aes.runtime import Run
from aes.study import Arm, Grid, Study, Trial
from aes.study import Plan as StudyPlan
from aes.study.plan import NAME
from cli import collector, flags, plan, signals
from cli.errors import Interrupted, Refused
from cli.flags import N
from cli.plan import Plan
from cli.session import GRACE, View, view_of
from cli.settings import NOT_A_STUDYS
from cli.train import ready
from cli.view import study as words
from cli.view.study import StudyView
from cli.view.terminal import quiet


def study(folder: Path, given: dict[str, Any], grid: dict[str, Any], *, live: bool) -> None:
    """Run the study in a folder to its end, from wherever it stands. Raises AesError, Interrupted."""
    with quiet() as terminal:
        view = view_of(terminal.console, live)
        with view.working("reading data and model"):
            drawn, asked = _draw(folder, given, grid, thorough=False)
        task, engine = ready(drawn, view)
        made = Study(task, engine, drawn.settings.config, asked, folder, drawn.settings)
        made.check_disk()
        terminal.console.print(words.headline(drawn, made))
        try:
            terminal.chatter_to(folder / "engine.log")
        except OSError as error:
            raise ConfigError(f"study {folder}: cannot be written to ({error.strerror})") from None
        _follow(made, engine, view, drawn)


def dry_run(folder: Path, given: dict[str, Any], grid: dict[str, Any]) -> None:
    """Print what `study` would do. Raises Refused with everything that speaks against it."""
    with quiet() as terminal:
        drawn, asked = _draw(folder, given, grid, thorough=True)
        if drawn.complaints or drawn.task is None or drawn.engine is None:
            raise Refused(drawn.complaints)
        made = Study(drawn.task, drawn.engine, drawn.settings.config, asked, folder, drawn.settings)
        terminal.console.print(words.headline(drawn, made))
        made.check_disk()


def numbers(flag: str, text: str | None, kind: type[N]) -> tuple[N, ...] | None:
    """The values of a flag, as in 1,2,4; `none` is none of them, and no flag is None. Raises ConfigError."""
    if text is None:
        return None
    return () if text.strip() in ("", "none") else flags.numbers(flag, text, kind)


def _draw(folder: Path, given: dict[str, Any], grid: dict[str, Any], *, thorough: bool) -> tuple[Plan, Grid]:
    """The plan of what all runs have in common, and the grid: as the folder tells, where there is a study in it."""
    if ours := sorted(NOT_A_STUDYS & set(given)):
        raise ConfigError(f"{ours[0]}: not for a study to take, its arms or its folder decide on that (leave it out)")
    begun = StudyPlan.read(folder)
    if begun is not None:
        if begun.about is None:
            raise DataError(f"study {folder}: it was not made by aes study (its own program must go on with it)")
        given = {key: value for key, value in begun.about.items() if key not in NOT_A_STUDYS} | given
        grid = begun.grid.model_dump() | grid
    asked = Grid.parse(grid)
    drawn = plan.draw({**given, "run_dir": folder}, thorough=thorough)
    drawn.settings = drawn.settings.model_copy(update={"run_dir": None})
    asked.arms(Arm("synchronous").config(drawn.settings.config, 0))
    return drawn, asked


def _follow(made: Study, engine: Pool, view: View, drawn: Plan) -> None:
    """Open the engines and run what is left. Raises AesError, or Interrupted with how to go on."""
    shown = StudyView(made, view.console, drawn.settings.config.updates)
    try:
        signals.run(lambda stop: _run(made, engine, view, shown, stop), view.console.print)
    except EngineError as error:
        error.add_note(f"(what the engine said is in {made.folder / 'engine.log'})")
        raise
    except (Interrupted, KeyboardInterrupt) as stop:
        number = stop.number if isinstance(stop, Interrupted) else 2
        begun = (made.folder / NAME).exists()
        where = f"; go on with: aes study {made.folder}" if begun else "; nothing was begun yet"
        raise Interrupted(number, where) from None
    view.console.print(words.done(made))


async def _run(made: Study, engine: Pool, view: View, shown: StudyView, stop: signals.Stop) -> None:
    now: list[Run] = []

    def gently() -> None:
        for run in now:
            run.stop(GRACE)

    async def follow(trial: Trial, run: Run) -> None:
        if stop.number is not None:
            return
        now[:] = [run]
        shown.begin(trial, run)
        async for event in run:
            shown.note(event)
        now.clear()
        if run.finished:
            shown.end(trial, run)

    async with AsyncExitStack() as stack:
        if made.left:
            with view.working("starting the engine"):
                await stack.enter_async_context(engine)
        stack.enter_context(collector.sparing())
        stop.gently = gently
        stack.enter_context(shown)
        if not await made.run(follow):
            assert stop.number is not None
            raise Interrupted(stop.number)
