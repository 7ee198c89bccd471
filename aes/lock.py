"""The lock of a run folder: it keeps a second writer out, and belongs to its process, so that none survives a crash."""

from __future__ import annotations

import fcntl
import os
import struct
import sys
from pathlib import Path

from aes.errors import ConfigError

NAME = "lock"
_held: set[Path] = set()  # a process's own locks don't keep it out itself


class Lock:
    """Holds a run folder for this process until it is released."""

    def __init__(self, folder: Path) -> None:
        """Raises ConfigError where somebody else holds the folder, this process included; OSError."""
        self._key = folder.resolve()
        taken = ConfigError(f"run {folder}: another process is writing to it (wait for it, or stop it)")
        if self._key in _held:
            raise taken
        self._file = os.open(folder / NAME, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            raise taken from None
        _held.add(self._key)

    def release(self) -> None:
        """Let others have the folder."""
        os.close(self._file)
        _held.discard(self._key)


def held(folder: Path) -> bool:
    """Whether somebody, this process included, writes to a run folder now. It is asked for, never taken."""
    if folder.resolve() in _held:  # closing the file again would let go of the lock
        return True
    try:
        file = os.open(folder / NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        return _kind(fcntl.fcntl(file, fcntl.F_GETLK, _asked())) != fcntl.F_UNLCK
    except OSError:  # a file system without locks
        return False
    finally:
        os.close(file)


def _asked() -> bytes:
    """The C struct flock of a lock for writing on the whole file."""
    if sys.platform == "darwin":
        return struct.pack("qqihh", 0, 0, 0, fcntl.F_WRLCK, os.SEEK_SET)
    return struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)


def _kind(answer: bytes) -> int:
    """The kind of lock in the way, in such a struct."""
    (kind,) = struct.unpack_from("h", answer, 20 if sys.platform == "darwin" else 0)
    return int(kind)
