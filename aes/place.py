"""Where a play is, in words: the file and line of the user's own code, not of a library that it called."""

from __future__ import annotations

import sysconfig
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

_NOT_THE_USERS = (
    str(Path(__file__).parent),
    *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
)


def raised(error: BaseException) -> str:
    """Where an error comes from; nothing for one without a traceback."""
    return _words([(frame.filename, frame.lineno or 0) for frame in traceback.extract_tb(error.__traceback__)])


def running(frame: FrameType | None, within: str) -> str:
    """Where a thread is that runs `frame`, looking no further out than the file `within`."""
    places: list[tuple[str, int]] = []
    while frame is not None and frame.f_code.co_filename != within:
        places.insert(0, (frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return _words(places)


def waiting(coroutine: Any) -> str:
    """Where a coroutine waits; nothing for one that has ended or is no `async def`."""
    places: list[tuple[str, int]] = []
    while (frame := getattr(coroutine, "cr_frame", None)) is not None:
        places.append((frame.f_code.co_filename, frame.f_lineno))
        coroutine = coroutine.cr_await
    return _words(places)


def _words(places: Sequence[tuple[str, int]]) -> str:
    """The innermost of nested places that is the user's, else the innermost."""
    own = [place for place in places if not place[0].startswith(_NOT_THE_USERS)] or places
    if not own:
        return ""
    file, line = own[-1]
    return f"{'/'.join(Path(file).parts[-2:])}:{line}"
