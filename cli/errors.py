"""From an exception to one clear line and an exit code."""

from __future__ import annotations

import signal
from collections.abc import Iterable

from aes.errors import AesError, UsageError
from cli.view.safe_text import safe


class Refused(UsageError):
    """Everything that speaks against a run, one line each."""

    def __init__(self, complaints: Iterable[str]) -> None:
        self.complaints = tuple(complaints)
        super().__init__("\n".join(self.complaints))


class Interrupted(Exception):
    """The user (or the system) asked to stop, and everything has been closed."""

    def __init__(self, number: int, where: str = "") -> None:
        self.number = number
        super().__init__(f"stopped by {signal.Signals(number).name}{where}")


def exit_code(error: Exception) -> int:
    """2 for what the user can cure, 1 for what aes could not do, 128 + n for signal n."""
    if isinstance(error, Interrupted):
        return 128 + error.number
    return 2 if isinstance(error, UsageError) else 1


def lines(error: AesError | Interrupted) -> list[str]:
    """What to print."""
    texts = error.complaints if isinstance(error, Refused) else (str(error),)
    return [f"aes: {' '.join(safe(text).split())}" for text in texts]
