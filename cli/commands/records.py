"""Commands about runs there are: `aes runs`, `aes compare`, `aes watch`, `aes eval`, `aes replay`, `aes export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

commands = typer.Typer()


@commands.command()
def runs(
    folder: Annotated[Path, typer.Argument(help="A folder of runs, or one run.")] = Path("runs"),
    sort: Annotated[
        Literal["age", "name", "state", "score", "gain"], typer.Option("--sort", help="What comes first.")
    ] = "age",
    as_json: Annotated[bool, typer.Option("--json", help="All that is known, for programs.")] = False,
) -> None:
    """List runs: how far they are, how they score on held-out goals, and which are going on now."""
    from cli.runs import list_runs

    list_runs(folder, sort, as_json=as_json)


@commands.command()
def compare(
    folders: Annotated[list[Path], typer.Argument(metavar="RUN", help="Run folders; the first is the reference.")],
    as_json: Annotated[bool, typer.Option("--json", help="The same for programs.")] = False,
) -> None:
    """Compare runs: settings that differ, scores at equal versions, and differences goal by goal."""
    from cli.compare import compare as side_by_side

    side_by_side(folders, as_json=as_json)


@commands.command()
def watch(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    no_live: Annotated[bool, typer.Option("--no-live", help="Log lines in place of the live view.")] = False,
) -> None:
    """Watch a run from another terminal: the live view, from its journal. Ctrl-C leaves the run alone."""
    from cli.watch import watch as look_on

    look_on(run, live=not no_live)


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
