"""An engine's process, as its driver sees it: how it ended, how to end it, and what it leaves behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from multiprocessing import resource_tracker
from multiprocessing.process import BaseProcess
from pathlib import Path

from aes.engine.guard import shared_memory

_TRACKED = {"sem.": "semaphore", "psm_": "shared_memory"}
"""Files of /dev/shm that Python's resource tracker knows: how they begin, and what it calls them."""

JOIN_S = 5.0
"""Seconds that a killed process has to be gone; one that is held up in a driver of the system may take for ever."""


class EngineProcess:
    """Watches one process from within the event loop; `ended` is called with how it ended, at most once."""

    def __init__(self, process: BaseProcess, folder: Path, ended: Callable[[str], None]) -> None:
        """`folder` belongs to the process."""
        assert process.pid is not None
        self._process = process
        self._pid = process.pid
        self._folder = folder
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        self._shared = shared_memory(self._pid)
        # vLLM's own thread waits for the end too, but wakes nobody who waits for the answer to a call.
        self._descriptor = _descriptor(process)
        self._loop.add_reader(self._descriptor, self._notice)

    def forget(self) -> None:
        """Watch no longer. In the loop's thread."""
        self._loop.remove_reader(self._descriptor)
        os.close(self._descriptor)

    def kill(self) -> None:
        """End it at once, with all that it started."""
        if self._process.is_alive():
            with contextlib.suppress(ProcessLookupError):
                if os.getpgid(self._pid) == self._pid:
                    os.killpg(self._pid, signal.SIGKILL)
                else:
                    os.kill(self._pid, signal.SIGKILL)

    def clean(self) -> None:
        """Kill it if it still runs, and remove what it could not remove itself. Blocks."""
        self.kill()
        self._process.join(JOIN_S)
        for file in self._shared:
            if file.exists():
                file.unlink(missing_ok=True)
                kind = _TRACKED.get(file.name[:4])
                if kind is not None:
                    resource_tracker.unregister(f"/{file.name.removeprefix('sem.')}", kind)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _notice(self) -> None:
        self._loop.remove_reader(self._descriptor)
        self._ended(self.how())

    def how(self) -> str:
        """How it ended, in words."""
        with contextlib.suppress(ChildProcessError, AttributeError):  # vLLM's thread may have asked first
            status = os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
            if status is None:
                return "vLLM met an error that it could not go on from"
            killed = status.si_code in (os.CLD_KILLED, os.CLD_DUMPED)
            return _in_words(-status.si_status if killed else status.si_status)
        for _ in range(10):  # that thread knows, and says so as soon as it has its turn
            if (code := self._process.exitcode) is not None:
                return _in_words(code)
            time.sleep(0.001)
        return "its process ended"


def _descriptor(process: BaseProcess) -> int:
    """A new file descriptor that can be read from once a process has ended."""
    if sys.platform == "linux":
        with contextlib.suppress(ProcessLookupError):  # it has ended and is forgotten: its pipe tells as well
            return os.pidfd_open(process.pid or 0)
    return os.dup(process.sentinel)


def _in_words(code: int) -> str:
    if code >= 0:
        return f"its process ended with exit code {code}"
    why = " (by somebody, or by the system for want of memory)" if code == -signal.SIGKILL else ""
    return f"its process was killed by {signal.Signals(-code).name}{why}"
