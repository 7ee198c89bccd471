"""The journal: every event of a run as one JSON line, flushed as it happens. A run is its journal."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from aes.errors import DataError
from aes.events import Event

FORMAT = 1


class Journal:
    """Appends events to `journal.jsonl` in a run folder."""

    def __init__(self, folder: Path, clock: Any) -> None:
        self._file: TextIO = (folder / "journal.jsonl").open("x", encoding="utf-8")
        self._clock = clock
        self._began = clock()
        self._write({"event": "Journal", "format": FORMAT})

    def __call__(self, event: Event) -> None:
        """Write one event; a listener for the bus."""
        self._write({"event": type(event).__name__, **asdict(event)})

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, record: dict[str, Any]) -> None:
        record["at"] = round(self._clock() - self._began, 4)
        self._file.write(to_json(record) + "\n")
        self._file.flush()


def to_json(value: Any, indent: int | None = None) -> str:
    """Plain values as JSON that every reader takes: numbers that JSON has no word for (nan, infinity) become null."""
    separators = (",", ":") if indent is None else None
    try:
        return json.dumps(value, indent=indent, separators=separators, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), indent=indent, separators=separators)


def _finite(value: Any) -> Any:
    match value:
        case dict():
            return {key: _finite(entry) for key, entry in value.items()}
        case list() | tuple():
            return [_finite(entry) for entry in value]
        case float() if not math.isfinite(value):
            return None
    return value


def read(folder: Path) -> Iterator[dict[str, Any]]:
    """The records of a run's journal; a torn last line is left out. Raises DataError on any other broken line."""
    path = folder / "journal.jsonl"
    if not path.is_file():
        raise DataError(f"run {folder}: no journal.jsonl in it (name a run folder)")
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    for number, line in enumerate(lines, 1):
        try:
            yield json.loads(line)
        except ValueError as error:
            if number == len(lines) and not line.endswith("\n"):
                return
            raise DataError(f"{path}:{number}: not a JSON record ({error}); the file was changed by hand?") from None
