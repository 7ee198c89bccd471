"""The terminal, kept clean: whatever libraries and engine processes print goes to a log file instead."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from rich.console import Console

_UNCLIPPED = 500


class Terminal:
    """A console of our own on the real standard output, and a place for everybody else's words.

    Attributes:
        console: writes to what standard output was at the start.
    """

    def __init__(self, console: Console, hold: tuple[int, int] | None) -> None:
        self.console = console
        self._hold = hold

    def chatter_to(self, path: Path) -> None:
        """Send file descriptors 1 and 2, which engine processes inherit, to a file from now on. Raises OSError."""
        path.parent.mkdir(parents=True, exist_ok=True)
        if self._hold is None:
            return
        log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        _point(log)
        os.close(log)


def unclipped(console: Console) -> Console:
    """The console, made to cut no line where it is a file or a pipe, unless $COLUMNS says so."""
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _UNCLIPPED
    return console


@contextmanager
def quiet() -> Iterator[Terminal]:
    """Silence descriptors 1 and 2 and hand out a console that still reaches the terminal; undone when left.

    Where standard output is not a real file (in a test), nothing is redirected.
    """
    if not _is_real(sys.stdout, 1) or not _is_real(sys.stderr, 2):
        yield Terminal(Console(), None)
        return
    sys.stdout.flush()
    sys.stderr.flush()
    hold = os.dup(1), os.dup(2)
    with open(os.dup(hold[0]), "w", encoding=sys.stdout.encoding, closefd=True) as out:  # noqa: PTH123
        terminal = Terminal(Console(file=out), hold)
        terminal.chatter_to(Path(os.devnull))
        try:
            yield terminal
        finally:
            out.flush()
            sys.stdout.flush()
            sys.stderr.flush()
            for descriptor, kept in zip((1, 2), hold, strict=True):
                os.dup2(kept, descriptor)
                os.close(kept)


def _point(log: int) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os.dup2(log, 1)
    os.dup2(log, 2)


def _is_real(stream: TextIO, descriptor: int) -> bool:
    try:
        return stream.fileno() == descriptor
    except (OSError, ValueError):
        return False
