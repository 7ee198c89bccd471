"""One JSON file, value by value: what `json.load` makes of it, without ever holding all of it.

Python's own parser does the parsing, so that every oddity the original's files may have (NaN, lone surrogates) is read
as the original reads it; a streaming library is stricter than that.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from aes.errors import DataError

_CHUNK = 1 << 20
_LONGEST = 1 << 26  # characters of one value; longer is a broken file, not a product
_SPACE = " \t\n\r"
# What ends, or goes wrong, this close to the end of what has been read may only be cut short: 0.|5, tr|ue.
_TAIL = 16
_KINDS = {"[": "an array", "{": "an object", '"': "a string"}


def elements(path: Path, holds: str) -> Iterator[Any]:
    """Yield the elements of a file that is one array; `holds` says in errors what it should be.

    Raises DataError for a file that cannot be read, broken JSON (with its line) or JSON of another kind.
    """
    with _opened(path) as file:
        text = _Text(path, file)
        text.begin("[", holds)
        while text.more("]"):
            yield text.value()


def members(path: Path, holds: str) -> Iterator[tuple[str, Any]]:
    """Yield the (key, value) pairs of a file that is one object. Raises DataError as `elements` does."""
    with _opened(path) as file:
        text = _Text(path, file)
        text.begin("{", holds)
        while text.more("}"):
            key = text.value()
            if not isinstance(key, str):
                raise text.error("expected a key in quotes")
            text.take(":")
            yield key, text.value()


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error


class _Text:
    """A window on the file's text, moved on as values are taken from it."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path = path
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._parse = json.JSONDecoder().raw_decode
        self._window = ""
        self._at = 0
        self._ended = False
        self._bytes = 0
        self._line, self._column = 1, 0
        self._first = True

    def begin(self, bracket: str, holds: str) -> None:
        """Take the opening bracket."""
        found = self._peek()
        if found != bracket:
            kind = _KINDS.get(found, "a bare value" if found else "nothing")
            raise DataError(f"{self._path}: must hold {holds}, but holds {kind}")
        self._at += 1

    def more(self, bracket: str) -> bool:
        """Take what separates values; False once the closing bracket and the end of the file are there."""
        found = self._peek()
        if found != bracket:
            if not self._first:
                self.take(",")
            self._first = False
            return True
        self._at += 1
        if self._peek():
            raise self.error("expected nothing after the closing bracket")
        return False

    def take(self, char: str) -> None:
        """Take one character that must come next."""
        if self._peek() != char:
            raise self.error(f"expected {char!r}")
        self._at += 1

    def value(self) -> Any:
        """Take the next value, reading on for as long as it may be cut short."""
        self._peek()
        while True:
            try:
                value, end = self._parse(self._window, self._at)
            except json.JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated string") or error.pos > len(self._window) - _TAIL
                if self._ended or not cut:
                    raise self.error(error.msg, error.pos) from error
            except RecursionError as error:
                raise self.error("nested too deeply") from error
            else:
                if self._ended or end + _TAIL <= len(self._window):
                    self._at = end
                    return value
            if len(self._window) - self._at > _LONGEST:
                raise self.error(f"a value of more than {_LONGEST} characters")
            self._read()

    def error(self, what: str, at: int | None = None) -> DataError:
        """Say what is wrong and on which line."""
        upto = self._window[: self._at if at is None else at]
        line = self._line + upto.count("\n")
        column = len(upto) - upto.rfind("\n") if "\n" in upto else self._column + len(upto) + 1
        return DataError(f"{self._path}, line {line}, column {column}: not JSON: {what}; mend it or fetch it again")

    def _peek(self) -> str:
        """Return the next character that is no space, "" at the end."""
        while True:
            while self._at < len(self._window):
                if self._window[self._at] not in _SPACE:
                    return self._window[self._at]
                self._at += 1
            if self._ended:
                return ""
            self._read()

    def _read(self) -> None:
        """Drop what has been taken and read on; the longer the value at hand, the more."""
        taken = self._window[: self._at]
        self._line += taken.count("\n")
        self._column = len(taken) - taken.rfind("\n") - 1 if "\n" in taken else self._column + len(taken)
        try:
            raw = self._file.read(max(_CHUNK, len(self._window) - self._at))
            self._window = self._window[self._at :] + self._decode(raw, final=not raw)
        except UnicodeDecodeError as error:
            place = self._bytes + error.start
            raise DataError(f"{self._path}, near byte {place}: not UTF-8 text; save it as UTF-8") from error
        except OSError as error:
            raise DataError(f"{self._path}: cannot be read: {error.strerror}") from error
        self._at, self._ended = 0, not raw
        self._bytes += len(raw)
