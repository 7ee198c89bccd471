"""The journal: every event of a run as one JSON line, flushed as it happens. A run is its journal.

Every line ends in a checksum of itself and of all lines before it, so that a changed, lost or swapped line is found. A
process or machine that dies leaves at most one torn line at the end, which is cut when the run goes on. A lock keeps a
second writer out; it belongs to the process, so none survives a crash.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import math
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from aes.errors import ConfigError, DataError, RunFailed
from aes.events import Event, Updated

FORMAT = 2
NAME = "journal.jsonl"
_SUM = b',"sum":"'
_HEAD = f'{{"event":"Journal","format":{FORMAT},'.encode()
_held: set[Path] = set()  # a process's own locks don't keep it out itself


class Journal:
    """Appends events to `journal.jsonl` in a run folder; the only writer there."""

    def __init__(self, folder: Path, clock: Callable[[], float], *, end: int, checksum: int, at: float) -> None:
        """Use `create` or `reopen`."""
        self._path = folder / NAME
        self._lock = _lock(folder)
        try:
            self._file = os.open(self._path, os.O_WRONLY | (0 if end else os.O_CREAT | os.O_EXCL), 0o644)
        except OSError:
            self._unlock()
            raise
        self._clock = clock
        self._began = clock() - at
        self._end = end
        self._checksum = checksum
        self._updated = asyncio.Event()
        os.ftruncate(self._file, end)
        os.lseek(self._file, end, os.SEEK_SET)

    @classmethod
    def create(cls, folder: Path, clock: Callable[[], float], about: dict[str, Any]) -> Self:
        """Begin a journal; its first record holds `about`, plain values.

        Raises FileExistsError where there is one, ConfigError where somebody else holds the folder, OSError.
        """
        journal = cls(folder, clock, end=0, checksum=0, at=0.0)
        journal.write({"event": "Journal", "format": FORMAT, **about})
        return journal

    @classmethod
    def reopen(cls, folder: Path, clock: Callable[[], float]) -> Self:
        """Go on after the last whole line; a torn one is cut. Raises DataError, ConfigError, OSError."""
        end, last, at = 0, 0, 0.0
        for line, checksum, record in _lines(folder):
            end, last, at = end + len(line), checksum, record["at"]
        if not end:
            raise DataError(f"run {folder}: its journal is empty (nothing was begun; delete the folder)")
        return cls(folder, clock, end=end, checksum=last, at=at)

    def __call__(self, event: Event) -> None:
        """Write one event; a listener for the bus. Raises RunFailed when the disk takes no more."""
        self.write({"event": type(event).__name__, **asdict(event)})
        if isinstance(event, Updated):
            self._updated.set()

    def write(self, record: dict[str, Any]) -> None:
        """Write one record whole, or leave the file as it was and raise RunFailed."""
        record["at"] = round(self._clock() - self._began, 4)
        body = to_json(record).encode()[:-1]
        checksum = zlib.crc32(body, self._checksum)
        line = body + _SUM + f'{checksum:08x}"}}\n'.encode()
        try:
            left = memoryview(line)
            while left:
                left = left[os.write(self._file, left) :]
        except OSError as error:
            os.ftruncate(self._file, self._end)
            os.lseek(self._file, self._end, os.SEEK_SET)
            raise RunFailed(
                f"{self._path}: cannot be written ({error.strerror}); it is whole up to here: mend that and resume"
            ) from error
        self._end, self._checksum = self._end + len(line), checksum

    async def keep_safe(self) -> None:
        """Make what is written outlast the machine, update by update, until cancelled. Raises RunFailed."""
        while True:
            await self._updated.wait()
            self._updated.clear()
            syncing = asyncio.ensure_future(asyncio.to_thread(os.fdatasync, self._file))
            try:
                with writing(self._path):
                    await asyncio.shield(syncing)
            except asyncio.CancelledError:
                while not syncing.done():  # the file must not be closed under it, however often we are cancelled
                    with suppress(asyncio.CancelledError):
                        await asyncio.wait([syncing])
                raise

    def close(self) -> None:
        """Close the file and let others write."""
        os.close(self._file)
        self._unlock()

    def _unlock(self) -> None:
        os.close(self._lock)
        _held.discard(self._path.parent.resolve())


def to_json(value: Any, indent: int | None = None) -> str:
    """Plain values as JSON that every reader takes: numbers that JSON has no word for (nan, infinity) become null."""
    separators = (",", ":") if indent is None else None
    try:
        return json.dumps(value, indent=indent, separators=separators, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), indent=indent, separators=separators)


@contextmanager
def writing(path: Path) -> Iterator[Path]:
    """Say plainly what keeps a run from writing a file. Raises RunFailed."""
    try:
        yield path
    except OSError as error:
        raise RunFailed(f"{path}: cannot be written ({error.strerror}); mend that and resume the run") from error


def read(folder: Path) -> Iterator[dict[str, Any]]:
    """The records of a run's journal in order; a torn last line is left out.

    Raises DataError for a folder without one, and with the line's number for whatever is not as it was written.
    """
    for _, _, record in _lines(folder):
        yield record


def _lines(folder: Path) -> Iterator[tuple[bytes, int, dict[str, Any]]]:
    """Whole lines with the checksum up to each and the record in it."""
    path = folder / NAME
    if not path.is_file():
        raise DataError(f"run {folder}: no {NAME} in it (name a run folder)")
    checksum = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            if number == 1 and not line.startswith(_HEAD):
                raise DataError(f"{path}: not a journal of format {FORMAT} (use the aes it was written by)")
            body, _, rest = line.rpartition(_SUM)
            checksum = zlib.crc32(body, checksum)
            if rest != f'{checksum:08x}"}}\n'.encode():
                raise DataError(f"{path}:{number}: not as it was written (its checksum differs); restore it or cut it")
            yield line, checksum, _record(body + b"}", f"{path}:{number}")


def _record(line: bytes, where: str) -> dict[str, Any]:
    """What a line holds. Raises DataError for what is no record, which only another program can have written."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: not a record of aes ({error})") from None
    if not isinstance(record, dict) or not isinstance(record.get("at"), int | float):
        raise DataError(f"{where}: not a record of aes (no time in it)")
    return record


def _lock(folder: Path) -> int:
    """Take the folder for this process, until the descriptor is closed. Raises ConfigError where another holds it."""
    key = folder.resolve()
    held = ConfigError(f"run {folder}: another process is writing to it (wait for it, or stop it)")
    if key in _held:
        raise held
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise held from None
    _held.add(key)
    return lock


def _finite(value: Any) -> Any:
    match value:
        case dict():
            return {key: _finite(entry) for key, entry in value.items()}
        case list() | tuple():
            return [_finite(entry) for entry in value]
        case float() if not math.isfinite(value):
            return None
    return value
