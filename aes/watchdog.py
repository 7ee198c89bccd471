"""The watchdog: a thread that stops a play which never gives the event loop its turn.

A time limit of asyncio can't end code that computes without an `await`: the loop itself stands still, and every other
episode with it. So each step of a play is timed, and a thread that sleeps nearly always raises EpisodeTimeout inside a
step that has taken longer than a whole episode may (`PyThreadState_SetAsyncExc`, as a debugger would).

Why that is safe enough: the exception is sent only while the step runs, under a lock that the step needs to end, so it
strikes in the play and nowhere else; there it can strike between any two lines, as Ctrl-C does in a program. What it
can't stop: C code that never returns, and tasks that a play starts itself and that never await.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import math
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Self, TypeVar

from aes import place

T = TypeVar("T")


class EpisodeTimeout(asyncio.CancelledError):
    """Raised in a play that computes for too long; like any cancellation it should be let pass."""


class Watchdog:
    """Times the steps of watched plays while it is entered. Entering and leaving belong in the loop's thread.

    Attributes:
        held_up: seconds for which long steps have held up the loop so far.
    """

    def __init__(self, limit: float | None) -> None:
        """`limit` is in seconds; with None, no thread is started and nothing is stopped."""
        self.held_up = 0.0
        self._limit = limit
        self._long = min(1.0, limit / 10) if limit else math.inf
        self._thread: threading.Thread | None = None
        self._loop_thread = 0
        self._running: Watched[Any] | None = None
        self._lock = threading.Lock()
        self._over = threading.Event()

    def __enter__(self) -> Self:
        self._loop_thread = threading.get_ident()
        if self._limit is not None:
            self._over.clear()
            self._thread = threading.Thread(target=self._watch, args=(self._limit,), name="aes watchdog", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def enter(self, watched: Watched[Any]) -> None:
        """A step begins."""
        watched.began = watched.timed_from = time.monotonic()
        self._running = watched

    def leave(self, watched: Watched[Any]) -> None:
        """A step has ended; an exception that was sent to it strikes in here at the latest."""
        with self._lock:
            self._running = None
        if (seconds := time.monotonic() - watched.began) > self._long:
            self.held_up += seconds
            watched.held_up += seconds

    def _watch(self, limit: float) -> None:
        while not self._over.wait(min(1.0, limit / 4)):
            with self._lock:
                watched = self._running
                if watched is not None and time.monotonic() - watched.timed_from > limit:
                    self._stop(watched)

    def _stop(self, watched: Watched[Any]) -> None:
        """Raise EpisodeTimeout in the step; again after as long, where the play has caught it and goes on."""
        watched.timed_from = time.monotonic()
        watched.stopped_at = place.running(sys._current_frames().get(self._loop_thread), __file__)
        thread, error = ctypes.c_ulong(self._loop_thread), ctypes.py_object(EpisodeTimeout)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, error)


class Watched(Coroutine[Any, Any, T]):
    """A coroutine whose steps are timed, and which can be given up.

    Attributes:
        began: when its present step began.
        timed_from: the same, or when that step was last stopped.
        held_up: seconds for which its long steps have held up the loop so far.
        stopped_at: where the watchdog has stopped it, in words; None if it hasn't.
    """

    def __init__(self, coroutine: Coroutine[Any, Any, T], watchdog: Watchdog) -> None:
        self.began = self.timed_from = self.held_up = 0.0
        self.stopped_at: str | None = None
        self._coroutine = coroutine
        self._watchdog = watchdog
        self._given_up = False

    def send(self, value: Any) -> Any:
        """Run to the next await."""
        return self._step(self._coroutine.send, value)

    def throw(self, *error: Any) -> Any:
        """Raise at the present await, and run to the next."""
        return self._step(self._coroutine.throw, *error)

    def close(self) -> None:
        """End the coroutine at its present await."""
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, T]:
        """As a coroutine has it; its task, which alone runs it, uses the methods above."""
        return self._coroutine.__await__()

    def give_up(self) -> None:
        """Close at the next step instead of going on; for a play that doesn't end when it is cancelled."""
        self._given_up = True

    def waits_at(self) -> str:
        """Where it waits, in words."""
        return place.waiting(self._coroutine)

    def _step(self, advance: Callable[..., Any], *arguments: Any) -> Any:
        self._watchdog.enter(self)
        try:
            if self._given_up:
                with contextlib.suppress(Exception):
                    self.close()
                raise asyncio.CancelledError
            return advance(*arguments)
        finally:
            try:
                self._watchdog.leave(self)
            except EpisodeTimeout:
                self._watchdog.leave(self)
