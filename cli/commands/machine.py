"""Commands about this machine and its settings: `aes doctor`, `aes config`."""

from __future__ import annotations

from typing import Annotated

import typer

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
