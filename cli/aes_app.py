"""The command line: `aes train`, `aes eval`, `aes warmstart`, `aes play`, `aes serve`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.exceptions import TyperException

from aes.config import nearest
from aes.errors import AesError
from cli import flags
from cli.errors import Interrupted, exit_code, lines

app = typer.Typer(
    name="aes",
    help="Train LLM agents with asynchronous, bounded-staleness evolution strategies.",
    pretty_exceptions_enable=False,
    add_completion=False,
    no_args_is_help=True,
)

_QUIET = {
    "VLLM_LOGGING_LEVEL": "ERROR",
    "TRANSFORMERS_VERBOSITY": "error",
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
}
"""What makes noisy libraries quiet, unless the user has set it otherwise."""


@app.callback(invoke_without_command=True)
def aes(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
) -> None:
    """Train LLM agents with asynchronous, bounded-staleness evolution strategies."""
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"aes {installed('aes-runtime')}")
        raise typer.Exit


@app.command()
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


@app.command("eval")
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


@app.command()
def resume(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    devices: Annotated[str | None, typer.Option("--devices", help="Other devices than the run's.")] = None,
    no_live: Annotated[bool, typer.Option("--no-live", help="Log lines in place of the live view.")] = False,
) -> None:
    """Go on with a run that was stopped or has crashed, from its last measurement."""
    from cli.resume import resume as go_on

    go_on(run, devices, live=not no_live)


@app.command()
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


@app.command()
def replay(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    version: Annotated[int | None, typer.Option("--version", help="Up to which version (default: the last).")] = None,
) -> None:
    """Rebuild a run's versions from seeds and coefficients alone, and check every digest."""
    from cli.replay import replay as rebuild

    rebuild(run, version)


@app.command()
def export(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    to: Annotated[Path, typer.Option("--to", help="Folder for the adapter; must be new or empty.")],
    version: Annotated[int | None, typer.Option("--version", help="Which version (default: the last).")] = None,
) -> None:
    """Write any version of a run as a PEFT adapter, rebuilt from seeds and proved by its digest."""
    from cli.replay import export as write

    write(run, version, to)


@app.command()
def warmstart(
    products: Annotated[int, typer.Option("--products", help="Size of the generated catalogue.", min=1)] = 1000,
    catalog_seed: Annotated[int, typer.Option("--catalog-seed", help="Its seed.", min=0)] = 0,
    force: Annotated[bool, typer.Option("--force", help="Make it anew even if it is there.")] = False,
) -> None:
    """Make the pocket policy of a generated catalogue by hand, and print its folder."""
    from cli.warmstart import make

    make(products, catalog_seed, force=force)


@app.command()
def play(
    data: Annotated[Path | None, typer.Option("--data", help="Folder of WebShop's JSON files.")] = None,
    products: Annotated[
        int | None, typer.Option("--products", help="Size of the generated catalogue, or the first so many.", min=1)
    ] = None,
    catalog_seed: Annotated[int, typer.Option("--catalog-seed", help="Seed of catalogue and prices.", min=0)] = 0,
    goal_kind: Annotated[
        Literal["synthetic", "human"], typer.Option("--goal-kind", help="Made goals, or crowd-written.")
    ] = "synthetic",
    split: Annotated[Literal["test", "dev", "train", "all"], typer.Option("--split", help="Goals to play.")] = "test",
    goal: Annotated[int | None, typer.Option("--goal", help="Begin with this one (default: drawn).", min=0)] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of the drawn goals.")] = None,
) -> None:
    """Shop yourself: WebShop in the terminal, with the score of your purchase at the end."""
    from cli.play import play as play_shop
    from cli.settings import TrainSettings

    settings = TrainSettings(data=data, products=products, catalog_seed=catalog_seed, goal_kind=goal_kind)
    play_shop(settings, split, goal, seed)


@app.command()
def serve(
    host: Annotated[str, typer.Option("--host", help="Address to listen at; the default is this machine alone.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option("--port", help="Port (0: any free one).", min=0, max=65535)] = 3000,
    data: Annotated[Path | None, typer.Option("--data", help="Folder of WebShop's JSON files.")] = None,
    products: Annotated[
        int | None, typer.Option("--products", help="Size of the generated catalogue, or a cut of --data.", min=1)
    ] = None,
    catalog_seed: Annotated[int, typer.Option("--catalog-seed", help="Seed of catalogue and prices.", min=0)] = 0,
    goal_kind: Annotated[
        Literal["synthetic", "human"], typer.Option("--goal-kind", help="Made of attributes, or crowd-written.")
    ] = "synthetic",
) -> None:
    """Open the shop in a browser, and to agents in other processes as a JSON API."""
    from cli.serve import serve as serve_shop
    from cli.settings import TrainSettings

    settings = TrainSettings(data=data, products=products, catalog_seed=catalog_seed, goal_kind=goal_kind)
    serve_shop(settings, host, port)


def main() -> None:
    """Run the command line; the only place that ends the process."""
    for key, value in _QUIET.items():
        os.environ.setdefault(key, value)
    try:
        code = app(standalone_mode=False) or 0
    except TyperException as error:
        print(f"aes: {_unusable(error)}", file=sys.stderr)
        code = error.exit_code
    except (AesError, Interrupted) as error:
        print("\n".join(lines(error)), file=sys.stderr)
        code = exit_code(error)
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    sys.exit(code)


def _unusable(error: TyperException) -> str:
    """What is wrong with the command line; for an unknown flag, the nearest known one and no other."""
    option = getattr(error, "option_name", None)
    known = getattr(error, "possibilities", None) or ()
    return f"no such flag: {option}{nearest(option, known)}" if option and known else error.format_message()
