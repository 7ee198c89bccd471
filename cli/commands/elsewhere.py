"""Commands about machines elsewhere: `aes engine`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cli import flags

commands = typer.Typer()


@commands.command()
@flags.with_flags
def engine(
    host: Annotated[str, typer.Option("--host", help="Address to listen at; the default is that machine alone.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option("--port", help="Port of the first engine.", min=1, max=65535)] = 8000,
    config: Annotated[Path | None, typer.Option("--config", help="TOML file of settings; flags win over it.")] = None,
    **given: Any,
) -> None:
    """Print the line that starts an engine elsewhere, for aes train --devices http://HOST:PORT with the same flags.

    --devices names the device there: cpu, cpu:N, cuda (the one it sees) or cuda:N; several make several lines.
    """
    from cli.engine import lines

    for line in lines(flags.given(given, config), host, port):
        typer.echo(line)
