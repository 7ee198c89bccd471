"""What watches over an engine from inside its process: it ends with its driver, and leaves nothing behind then.

vLLM's process notices neither of two things. A driver that is killed leaves it running for ever, and Ctrl-C at a
terminal, which goes to every process of the group, ends it while the driver still wants what is being played.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import threading
import time
from pathlib import Path

DRIVER = "AES_DRIVER"
"""Environment variable: the process that opened the engine."""

FOLDER = "AES_ENGINE_FOLDER"
"""Environment variable: the folder of the engine's sockets, for it alone."""

POLL_S = 0.5


def begin(served: bool = False) -> None:
    """Guard this process if it is an engine's: from now on it is the leader of a session of its own.

    One that is `served` has no driver; it ends with the server that has started it.
    """
    if served:
        os.environ[DRIVER] = str(os.getppid())
    if DRIVER in os.environ and multiprocessing.current_process().name == "EngineCore":
        os.setsid()
        threading.Thread(target=_watch, args=(int(os.environ[DRIVER]),), name="aes guard", daemon=True).start()


def shared_memory(process: int) -> list[Path]:
    """Files under /dev/shm that a process has mapped; none where the system does not tell."""
    try:
        lines = Path(f"/proc/{process}/maps").read_text().splitlines()
        # A semaphore is mapped under a name that it loses at once, so names don't tell.
        inodes = {int(line.split()[4]) for line in lines if "/dev/shm/" in line}
        return [file for file in Path("/dev/shm").iterdir() if file.stat().st_ino in inodes]
    except OSError:
        return []


def _watch(driver: int) -> None:
    while os.getppid() == driver:
        time.sleep(POLL_S)
    for file in shared_memory(os.getpid()):
        file.unlink(missing_ok=True)
    if FOLDER in os.environ:
        shutil.rmtree(os.environ[FOLDER], ignore_errors=True)
    os.killpg(os.getpid(), signal.SIGKILL)
