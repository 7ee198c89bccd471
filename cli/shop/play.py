"""`aes play`: WebShop for people, in the terminal; line by line where input or output is no terminal."""

from __future__ import annotations

import contextlib
import io
import shutil
import sys

from rich.console import Console

from aes.errors import AesError, UsageError
from cli import assemble
from cli.settings import TrainSettings
from cli.shop.menu import LONGEST_LINE, Act, Menu, Say, command
from cli.shop.pages import draw, help_page
from cli.view.safe_text import line
from envs.webshop.catalog.catalog import Catalog
from envs.webshop.catalog.goals import GoalKind
from envs.webshop.catalog.splits import Split
from envs.webshop.shop.shop import TextShop


def play(settings: TrainSettings, split: Split, goal: int | None, seed: int | None) -> None:
    """Play goals of a split until the user quits: from a position on, or drawn by weight.

    Raises DataError for data that cannot be read, UsageError for a goal that is not there, KeyboardInterrupt, and
    AesError where the pages cannot be written.
    """
    _accept_any_text()
    console = _console()
    with console.status("opening the catalogue") if console.is_terminal else contextlib.nullcontext():
        catalog = assemble.open_catalog(settings)
        game = Game(console, catalog, settings.goal_kind, split, goal, seed)
    try:
        game.run()
    except OSError as error:
        raise AesError(
            f"the pages cannot be written: {error.strerror} (a full disk, or a terminal that is gone)"
        ) from None


class Game:
    """One person at one shop: a page is printed, a line is read, until the lines end."""

    def __init__(
        self, console: Console, catalog: Catalog, kind: GoalKind, split: Split, goal: int | None, seed: int | None
    ) -> None:
        goals = catalog.goals(kind, split)
        if goal is not None and not 0 <= goal < len(goals):
            raise UsageError(f"--goal {goal}: the {split} split has {kind} goals 0 to {len(goals) - 1} (lower it)")
        self._console = console
        self._where = "all goals" if split == "all" else f"the {split} split"
        self._shop = TextShop(catalog, goals=goals)
        self._next = goal
        self._title = f"{len(catalog.products):,} products, {len(goals):,} {kind} goals to play"
        self._begin(seed)

    def run(self) -> None:
        """Play until the user quits or the input ends."""
        prompts = sys.stdin is not None and sys.stdin.isatty() and self._console.is_terminal
        if prompts:
            with contextlib.suppress(ImportError):
                import readline  # noqa: F401  # lets the line be edited, and remembers earlier ones
        self._say(self._title)
        self._draw()
        while (typed := _read(prompts)) is not None and self._obey(typed):
            pass

    def _obey(self, typed: str) -> bool:
        """Do what a line says; return whether to go on."""
        match command(typed, Menu.of(self._shop)):
            case "quit":
                return False
            case "help":
                self._console.print(help_page())
            case "look":
                self._draw()
            case "next goal":
                self._begin()
                self._draw()
            case Say(words):
                self._say(words, "yellow")
            case Act(actions):
                self._act(actions)
        return True

    def _act(self, actions: tuple[str, ...]) -> None:
        for action in actions:
            error = self._shop.step(action)[4]["error"]
            if not error:
                self._draw()
                return
        self._say(error, "yellow")

    def _begin(self, seed: int | None = None) -> None:
        """Turn to the next goal: the one that follows where the user has named the first, else a drawn one."""
        self._shop.reset(self._next, seed=seed)
        if self._next is not None:
            self._next = (self._next + 1) % len(self._shop.goals)

    def _draw(self) -> None:
        position = self._shop.goal.index - self._shop.goals[0].index
        draw(self._console, self._shop, Menu.of(self._shop), f"Goal {position} of {self._where}")

    def _say(self, words: str, style: str = "") -> None:
        self._console.print(line((words, style)))


def _read(prompts: bool) -> str | None:
    """Read a line, or what shows that it is too long; None at the end of input."""
    if sys.stdin is None:
        return None
    if prompts:
        try:
            return input("> ")
        except EOFError:
            print()
            return None
        except KeyboardInterrupt:
            print()
            raise
    first = piece = sys.stdin.readline(LONGEST_LINE + 2)
    while piece and not piece.endswith("\n"):  # a line may be longer than memory
        piece = sys.stdin.readline(65536)
    return first.removesuffix("\n") if first else None


def _console() -> Console:
    console = Console(highlight=False)
    if console.is_dumb_terminal:  # rich takes each of them to be 80 columns wide
        console.size = shutil.get_terminal_size()
    return console


def _accept_any_text() -> None:
    """Let no byte that is no text, and no letter that the terminal's encoding lacks, end the game."""
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
