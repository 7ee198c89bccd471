"""Commands about this machine and its settings: `aes doctor`, `aes config`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cli import flags

commands = typer.Typer()


@commands.command()
def doctor(
    engine: Annotated[
        bool, typer.Option("--engine/--no-engine", help="Start a small vLLM engine too, and prove its adapters.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="The findings for programs.")] = False,
) -> None:
    """Look at this machine: what is there, what is wrong, and the cure. Exit code 1 where something is wrong."""
    from cli.doctor.doctor import doctor as look

    if not look(engine=engine, as_json=as_json):
        raise typer.Exit(1)


@commands.command()
@flags.with_flags
def config(
    file: Annotated[Path | None, typer.Option("--config", help="TOML file to begin from; flags win over it.")] = None,
    check: Annotated[
        Path | None, typer.Option("--check", help="Print nothing, and say whether this file will do.")
    ] = None,
    **given: Any,
) -> None:
    """Print a TOML file of every setting, each explained, from these flags: for aes train --config FILE."""
    from cli import config_file

    if check is not None:
        config_file.check(check)
    else:
        config_file.show(flags.given(given, file))
