"""Commands that train: `aes train`, `aes resume`, `aes fork`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cli import flags

commands = typer.Typer()


@commands.command()
@flags.with_flags
def train(
    config: Annotated[Path | None, typer.Option("--config", help="TOML file of settings; flags win over it.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would run, and start nothing.")] = False,
    no_live: Annotated[bool, typer.Option("--no-live", help="Log lines in place of the live view.")] = False,
    **given: Any,
) -> None:
    """Train an agent. Lag is always counted in updates, never in seconds.

    With nothing given: WebShop on a generated catalogue, and on a machine without a GPU a small policy made here.
    """
    from cli import train as training

    values = flags.given(given, config)
    if dry_run:
        training.dry_run(values)
    else:
        training.train(values, live=not no_live)


@commands.command()
def resume(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    devices: Annotated[str | None, typer.Option("--devices", help="Other devices than the run's.")] = None,
    no_live: Annotated[bool, typer.Option("--no-live", help="Log lines in place of the live view.")] = False,
) -> None:
    """Go on with a run that was stopped or has crashed, from its last measurement."""
    from cli.resume import resume as go_on

    go_on(run, devices, live=not no_live)


@commands.command()
@flags.with_flags
def fork(
    run: Annotated[Path, typer.Argument(help="The run folder to begin from.")],
    at: Annotated[int | None, typer.Option("--at", help="Its version to begin at (default: the last).")] = None,
    config: Annotated[Path | None, typer.Option("--config", help="TOML file of changes; flags win over it.")] = None,
    no_live: Annotated[bool, typer.Option("--no-live", help="Log lines in place of the live view.")] = False,
    **given: Any,
) -> None:
    """Begin a new run at any version of another one, with its settings but for the flags given here."""
    from cli.train import fork as branch

    branch(run, at, flags.given(given, config), live=not no_live)
