"""Folders that aes keeps things in, and the room on their disks."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from cli.doctor.finding import GIB, Finding, gib
from envs.webshop.cache import cache_root

_LITTLE, _TOO_LITTLE = 2 * GIB, GIB // 8
_COUNTED = 100_000  # files; a cache of more is not measured to its end


def cache() -> Finding:
    """Where pocket policies and search indices are kept."""
    return _folder("cache", cache_root(), "set AES_CACHE to a folder that you may write to")


def models() -> Finding:
    """Where Hugging Face models are kept once they were loaded by name."""
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    return _folder("models", Path(os.environ.get("HF_HUB_CACHE") or home / "hub"), "set HF_HOME to a folder of yours")


def runs() -> Finding:
    """Where runs go unless --run-dir says otherwise, and the room there."""
    folder = Path("runs").absolute()
    found = _folder("runs", folder, "change to a folder that you may write to, or name one: --run-dir")
    if found.grade != "ok":
        return found
    free = shutil.disk_usage(_nearest(folder)).free
    room = f"{folder}, {gib(free)} free on its disk"
    if free < _LITTLE:
        return Finding("runs", "wrong" if free < _TOO_LITTLE else "warning", room, "make room, or name --run-dir")
    return Finding("runs", "ok", room)


def _folder(what: str, folder: Path, cure: str) -> Finding:
    """A folder that is to be written to; one that is not there yet is made when it is needed."""
    near = _nearest(folder)
    try:
        with tempfile.TemporaryFile(dir=near):
            pass
    except OSError as error:
        return Finding(what, "wrong", f"{folder}: cannot be written to ({error.strerror})", cure)
    if near != folder:
        return Finding(what, "ok", f"{folder}, not there yet")
    return Finding(what, "ok", f"{folder}, {_size(folder)}")


def _nearest(folder: Path) -> Path:
    """The folder, or the first above it that is there."""
    while not os.path.lexists(folder) and folder.parent != folder:
        folder = folder.parent
    return folder


def _size(folder: Path) -> str:
    size, count = 0, 0
    for place, _, files in os.walk(folder):
        for name in files:
            count += 1
            if count > _COUNTED:
                return f"more than {gib(size)}"
            try:
                size += os.lstat(os.path.join(place, name)).st_size  # noqa: PTH118, quicker by much
            except OSError:
                continue
    return gib(size) if count else "empty"
