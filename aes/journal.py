"""The journal: every event of a run as one JSON line, flushed as it happens. A run is its journal.

Every line ends in a checksum of itself and of all lines before it, so that a changed, lost or swapped line is found. A
process or machine that dies leaves at most one torn line at the end, which is cut when the run goes on.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from aes.errors import DataError, RunFailed
from aes.events import Event, Updated
from aes.lock import Lock

FORMAT = 2
NAME = "journal.jsonl"
LONGEST_LINE = 2**26
_MOST_DIGITS = 100
_SUM = b',"sum":"'
_SUM_AT = -len(_SUM + b'01234567"}\n')
_HEAD = f'{{"event":"Journal","format":{FORMAT},'.encode()


class Journal:
    """Appends events to `journal.jsonl` in a run folder; the only writer there."""

    def __init__(self, folder: Path, clock: Callable[[], float], *, end: int, checksum: int, at: float) -> None:
        """Use `create` or `reopen`."""
        self._path = folder / NAME
        self._lock = Lock(folder)
        try:
            self._file = os.open(self._path, os.O_WRONLY | (0 if end else os.O_CREAT | os.O_EXCL), 0o644)
        except OSError:
            self._lock.release()
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
        reader, at = Reader(folder), 0.0
        for record in reader.records():
            at = record["at"]
        if not reader.end:
            raise DataError(f"run {folder}: its journal is empty (nothing was begun; delete the folder)")
        return cls(folder, clock, end=reader.end, checksum=reader.checksum, at=at)

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
        self._lock.release()


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


class Reader:
    """Reads a journal as far as it is written, and later what has been added since. It takes no lock.

    Attributes:
        end: bytes of the whole lines read so far.
        checksum: that of the last of them.
        number: how many they are.
        written: when the file was last written to, as it was at the last reading, in seconds since the epoch.
    """

    def __init__(self, folder: Path) -> None:
        """Raises DataError for a folder without a journal."""
        self.path = folder / NAME
        with _readable(self.path):
            if not self.path.is_file():
                raise DataError(f"run {folder}: no {NAME} in it (name a run folder)")
        self.end = self.checksum = self.number = 0
        self.written = 0.0

    def lines(self) -> Iterator[bytes]:
        """The whole lines not read yet, each proved and without its checksum; a torn last line is left for later.

        Raises DataError with the line's number for what is not as it was written.
        """
        end, checksum, number = self.end, self.checksum, self.number
        with _readable(self.path), self.path.open("rb") as file:
            status = os.fstat(file.fileno())
            self.written = status.st_mtime
            if status.st_size < end:
                raise DataError(f"{self.path}: is shorter than it was: another journal, or a cut one (read it again)")
            file.seek(end)
            while (line := file.readline(LONGEST_LINE)).endswith(b"\n"):
                body = line[:_SUM_AT]
                end, checksum, number = end + len(line), zlib.crc32(body, checksum), number + 1
                if line[_SUM_AT:] != b'%b%08x"}\n' % (_SUM, checksum) or (number == 1 and not line.startswith(_HEAD)):
                    raise self._flaw(line, number)
                self.end, self.checksum, self.number = end, checksum, number
                yield body + b"}"
            if len(line) == LONGEST_LINE:
                raise DataError(f"{self.path}:{number + 1}: longer than any line of a journal; restore it")

    def records(self) -> Iterator[dict[str, Any]]:
        """The records not read yet, in order. Raises DataError."""
        for body in self.lines():
            yield self.record(body)

    def record(self, body: bytes) -> dict[str, Any]:
        """What the line read last holds. Raises DataError for what is no record: only another program wrote that."""
        where = f"{self.path}:{self.number}"
        try:
            record = json.loads(body, parse_float=_real, parse_int=_whole, parse_constant=_real)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{where}: not a record of aes ({error})") from None
        if not isinstance(record, dict) or not isinstance(record.get("at"), int | float):
            raise DataError(f"{where}: not a record of aes (no time in it)")
        return record

    def _flaw(self, line: bytes, number: int) -> DataError:
        if number == 1 and not line.startswith(_HEAD):
            return DataError(f"{self.path}: not a journal of format {FORMAT} (use the aes it was written by)")
        where = f"{self.path}:{number}"
        return DataError(f"{where}: not as it was written (its checksum differs); restore it or cut it")


def _real(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is no number of a run")
    return value


def _whole(text: str) -> int:
    if len(text) > _MOST_DIGITS:  # else it would overflow where it meets a real number
        raise ValueError(f"{text[:20]}... is no number of a run")
    return int(text)


def read(folder: Path) -> Iterator[dict[str, Any]]:
    """The records of a run's journal in order; a torn last line is left out.

    Raises DataError for a folder without one, and with the line's number for whatever is not as it was written.
    """
    yield from Reader(folder).records()


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None


def _finite(value: Any) -> Any:
    match value:
        case dict():
            return {key: _finite(entry) for key, entry in value.items()}
        case list() | tuple():
            return [_finite(entry) for entry in value]
        case float() if not math.isfinite(value):
            return None
    return value
