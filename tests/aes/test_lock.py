"""The lock of a run folder: whoever holds it is seen, and asking changes nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from aes.errors import ConfigError
from aes.lock import Lock, held

HOLD = "import sys; from pathlib import Path; from aes.lock import Lock; Lock(Path(sys.argv[1])); print(); input()"
TAKE = "import sys; from pathlib import Path; from aes.lock import Lock; Lock(Path(sys.argv[1]))"


def test_a_lock_of_this_process_is_seen_and_kept(tmp_path: Path) -> None:
    assert not held(tmp_path)
    lock = Lock(tmp_path)
    assert held(tmp_path)
    assert held(tmp_path / "." / ".." / tmp_path.name)
    with pytest.raises(ConfigError, match="another process is writing"):
        Lock(tmp_path)
    taken = subprocess.run([sys.executable, "-c", TAKE, str(tmp_path)], capture_output=True, text=True, check=False)
    assert "another process is writing" in taken.stderr  # asking has not let go of it
    lock.release()
    assert not held(tmp_path)


def test_a_lock_of_another_process_is_seen_and_not_taken(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        assert held(tmp_path)
        holder.kill()
        holder.wait()
    assert not held(tmp_path)
    Lock(tmp_path).release()


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_is_no_lock_holds_nothing(kind: str, tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    if kind == "link":
        lock.symlink_to(lock)
    elif kind == "pipe":
        os.mkfifo(lock)
    else:
        lock.mkdir()
    assert not held(tmp_path)
