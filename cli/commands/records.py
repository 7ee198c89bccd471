"""Commands about runs there are: `aes eval`, `aes replay`, `aes export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

commands = typer.Typer()


@commands.command("eval")
def evaluate(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    version: Annotated[int | None, typer.Option("--version", help="Which version (default: the last).")] = None,
    split: Annotated[Literal["test", "dev", "train"], typer.Option("--split", help="Goals to play.")] = "test",
    goals: Annotated[int | None, typer.Option("--goals", help="The first so many (default: as the run did).")] = None,
    devices: Annotated[str | None, typer.Option("--devices", help="Other devices than the run's.")] = None,
) -> None:
    """Evaluate any version of a run, rebuilt from its journal, on any split."""
    from cli.evaluate import evaluate_run

    evaluate_run(run, version, split, goals, devices)


@commands.command()
def replay(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    version: Annotated[int | None, typer.Option("--version", help="Up to which version (default: the last).")] = None,
) -> None:
    """Rebuild a run's versions from seeds and coefficients alone, and check every digest."""
    from cli.replay import replay as rebuild

    rebuild(run, version)


@commands.command()
def export(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    to: Annotated[Path, typer.Option("--to", help="Folder for the adapter; must be new or empty.")],
    version: Annotated[int | None, typer.Option("--version", help="Which version (default: the last).")] = None,
) -> None:
    """Write any version of a run as a PEFT adapter, rebuilt from seeds and proved by its digest."""
    from cli.replay import export as write

    write(run, version, to)
