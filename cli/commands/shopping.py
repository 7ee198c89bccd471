"""Commands about WebShop itself: `aes play`, `aes serve`, `aes warmstart`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

commands = typer.Typer()


@commands.command()
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
    from cli.settings import TrainSettings
    from cli.shop.play import play as play_shop

    settings = TrainSettings(data=data, products=products, catalog_seed=catalog_seed, goal_kind=goal_kind)
    play_shop(settings, split, goal, seed)


@commands.command()
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
    from cli.settings import TrainSettings
    from cli.shop.serve import serve as serve_shop

    settings = TrainSettings(data=data, products=products, catalog_seed=catalog_seed, goal_kind=goal_kind)
    serve_shop(settings, host, port)


@commands.command()
def warmstart(
    products: Annotated[int, typer.Option("--products", help="Size of the generated catalogue.", min=1)] = 1000,
    catalog_seed: Annotated[int, typer.Option("--catalog-seed", help="Its seed.", min=0)] = 0,
    force: Annotated[bool, typer.Option("--force", help="Make it anew even if it is there.")] = False,
) -> None:
    """Make the pocket policy of a generated catalogue by hand, and print its folder."""
    from cli.shop.warmstart import make

    make(products, catalog_seed, force=force)
