"""Small runs of the fake engine for the tests of commands that read run folders."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from aes import ChatTask
from aes.engine.fake import FakeEngine
from tests.aes.conftest import Shelf
from tests.aes.runs import config, played


def record(folder: Path, **changes: Any) -> Path:
    """The folder of a run that was played to its end: 6 updates, evaluated at 0, 2, 4 and 6 on 5 goals."""
    task = ChatTask(changes.pop("task", "shelf"), Shelf, range(60), range(100, 140))
    asyncio.run(played(task, FakeEngine(slots=3), config(**changes), folder))
    return folder


def cut(folder: Path, after: str, times: int = 1, torn: bytes = b"") -> Path:
    """The folder as it was after the event `after` had happened so many times, with a torn line at the end."""
    journal = folder / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    ends = [number for number, line in enumerate(lines, 1) if line.startswith(f'{{"event":"{after}"'.encode())]
    journal.write_bytes(b"".join(lines[: ends[times - 1]]) + torn)
    return folder
