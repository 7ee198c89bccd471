"""Commands for experiments: `aes study`, `aes report`, `aes simulate`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

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

    Every run has its folder. Wherever a study was stopped, it goes on with: aes study FOLDER.
    Its seeds and arms can grow, nothing else can change. A list of arms may be `none`.

    What natural arms learn hangs on timing, all else on seeds alone.
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


_SIZES, _LENGTHS, _DEVICES = "Sizes (several with commas; every combination is simulated)", "Episodes", "Devices"


@commands.command()
def simulate(
    devices: Annotated[
        str, typer.Option(help="Devices, one engine on each.", metavar="A,B", rich_help_panel=_SIZES)
    ] = "1,4,16",
    slots: Annotated[
        str, typer.Option(help="Members at once on each device.", metavar="A,B", rich_help_panel=_SIZES)
    ] = "16",
    spread: Annotated[
        str | None,
        typer.Option(
            help="Standard deviation / mean of turns and of tokens a reply (default: 0,0.5,1, or as recorded).",
            metavar="A,B",
            rich_help_panel=_SIZES,
        ),
    ] = None,
    max_lag: Annotated[
        str,
        typer.Option(
            help="Bounds on the lag, in updates, to be compared with the synchronous run.",
            metavar="A,B",
            rich_help_panel=_SIZES,
        ),
    ] = "1",
    pairs: Annotated[
        int | None, typer.Option(help="Pairs an update (default: what fills all slots once).", min=2)
    ] = None,
    goals: Annotated[int, typer.Option(help="Goals that each member plays, all at once.", min=1)] = 8,
    updates: Annotated[int, typer.Option(help="Updates to apply.", min=1)] = 8,
    on_stale: Annotated[
        Literal["wait", "drop"], typer.Option(help="Stragglers at the bound: wait for them, or drop them.")
    ] = "wait",
    objective: Annotated[
        Literal["quadratic", "rugged"], typer.Option(help="What members are worth: an analytic function of 64 numbers.")
    ] = "quadratic",
    seed: Annotated[int, typer.Option(help="Seed of lengths, noise and directions.", min=0, max=2**32 - 1)] = 0,
    turns: Annotated[float, typer.Option(help="Mean turns of an episode.", rich_help_panel=_LENGTHS)] = 6.0,
    tokens: Annotated[float, typer.Option(help="Mean tokens of a reply.", rich_help_panel=_LENGTHS)] = 50.0,
    prompt: Annotated[int, typer.Option(help="New prompt tokens of a turn.", rich_help_panel=_LENGTHS)] = 200,
    max_turns: Annotated[
        int, typer.Option(help="Turns after which an episode ends at the latest.", rich_help_panel=_LENGTHS)
    ] = 50,
    recorded: Annotated[
        Path | None,
        typer.Option("--from", help="Take turns, tokens and spread from this run folder.", rich_help_panel=_LENGTHS),
    ] = None,
    by_turn: Annotated[
        bool,
        typer.Option(
            "--by-turn/--by-episode",
            help="One request a turn, or two an episode: cheaper to simulate, and nearly the same.",
            rich_help_panel=_LENGTHS,
        ),
    ] = True,
    curve: Annotated[
        str,
        typer.Option(
            help="A decoding step of b sequences takes base + b * per_sequence: base_ms,per_sequence_ms and, if you"
            " like, microseconds a prompt token. Or a device: pocket-cpu (measured), qwen7b-h100 (reckoned).",
            metavar="MS,MS[,US]",
            rich_help_panel=_DEVICES,
        ),
    ] = "qwen7b-h100",
    sequences: Annotated[
        int, typer.Option(help="Requests decoded in one batch on a device.", min=1, rich_help_panel=_DEVICES)
    ] = 256,
    driver_us: Annotated[
        float,
        typer.Option(help="Microseconds the one driver takes for a reply.", min=0, rich_help_panel=_DEVICES),
    ] = 60.0,
    to: Annotated[Path | None, typer.Option("--json", help="Write everything to this file as well.")] = None,
) -> None:
    """What asynchrony is worth on other machines: the real runtime in virtual time, on simulated devices.

    Each size is run synchronously and with every --max-lag, at equal numbers of evaluations: wall time, idle shares,
    realised lag. A minute of real time does for hundreds of devices. docs/simulation.md has the model and its limits.
    """
    from cli import simulate as simulating

    chosen, spreads = simulating.lengths_of(recorded, turns, tokens, prompt, max_turns)
    sizes = simulating.Sizes(
        devices=simulating.numbers("--devices", devices, int, 1),
        slots=simulating.numbers("--slots", slots, int, 1),
        spreads=simulating.numbers("--spread", spread, float, 0) if spread else spreads,
        lags=simulating.numbers("--max-lag", max_lag, int, 0),
        pairs=pairs,
    )
    settings = {"goals": goals, "updates": updates, "on_stale": on_stale, "seed": seed}
    base = simulating.base(chosen, settings, curve, sequences, driver_us, objective, by_turn=by_turn)
    simulating.run(base, chosen, sizes, to)
