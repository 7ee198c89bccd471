"""Commands for experiments: `aes study`, `aes report`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from aes.study.grid import Grid
from cli import flags
from cli.settings import NOT_A_STUDYS

commands = typer.Typer()

_ARMS = "Arms"


def _about(name: str) -> str:
    return f"{Grid.model_fields[name].description}"


@commands.command()
@partial(flags.with_flags, without=NOT_A_STUDYS)
def study(
    folder: Annotated[Path, typer.Argument(help="The study's folder: a new one, or one to go on with.")],
    natural: Annotated[
        str | None, typer.Option(help=f"{_about('natural')} (default: 1,4)", metavar="A,B", rich_help_panel=_ARMS)
    ] = None,
    lags: Annotated[
        str | None, typer.Option(help=f"{_about('lags')} (default: 1,2,4,8)", metavar="A,B", rich_help_panel=_ARMS)
    ] = None,
    fracs: Annotated[
        str | None, typer.Option(help=f"{_about('fracs')} (default: 0.25,0.5,1)", metavar="A,B", rich_help_panel=_ARMS)
    ] = None,
    stress: Annotated[
        bool | None, typer.Option("--stress/--no-stress", help=_about("stress"), rich_help_panel=_ARMS)
    ] = None,
    estimators: Annotated[
        str | None, typer.Option(help=f"{_about('estimators')} (default: pairs)", metavar="A,B", rich_help_panel=_ARMS)
    ] = None,
    on_stale: Annotated[
        str | None, typer.Option(help=f"{_about('on_stale')} (default: wait)", metavar="A,B", rich_help_panel=_ARMS)
    ] = None,
    seeds: Annotated[int | None, typer.Option(help=f"{_about('seeds')} (default: 3)", rich_help_panel=_ARMS)] = None,
    config: Annotated[Path | None, typer.Option("--config", help="TOML file of settings; flags win over it.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan, and start nothing.")] = False,
    no_live: Annotated[bool, typer.Option("--no-live", help="Log lines in place of bars.")] = False,
    **given: Any,
) -> None:
    """Compare schedules: synchronous, natural and controlled asynchrony, stress tests; several seeds of each.

    Every run has its folder, and the study goes on wherever it was stopped: aes study FOLDER. Its seeds and arms can
    grow, nothing else can change. A list may be `none`. What natural arms learn hangs on timing, all else on seeds.
    """
    from cli import study as studying

    grid = {
        "natural": studying.numbers("--natural", natural, int),
        "lags": studying.numbers("--lags", lags, int),
        "fracs": studying.numbers("--fracs", fracs, float),
        "stress": stress,
        "estimators": estimators and tuple(estimators.split(",")),
        "on_stale": on_stale and tuple(on_stale.split(",")),
        "seeds": seeds,
    }
    asked = {name: value for name, value in grid.items() if value is not None}
    values = flags.given(given, config)
    if dry_run:
        studying.dry_run(folder, values, asked)
    else:
        studying.study(folder, values, asked, live=not no_live)


@commands.command()
def report(
    folder: Annotated[Path, typer.Argument(metavar="RUN_OR_STUDY", help="A run's folder, or a study's.")],
    to: Annotated[
        Path | None, typer.Option("--to", help="The page's file, ending in .html (default: report.html in the folder).")
    ] = None,
) -> None:
    """Write what a run or a study came to: one HTML page, the same as Markdown, and its pictures."""
    from cli.report import report as write

    write(folder, to)
