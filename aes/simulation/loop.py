"""Virtual time: an event loop whose clock jumps from timer to timer, so that waiting costs nothing.

What threads of the loop's executors do (`asyncio.to_thread`) takes no virtual time: the clock stands still until they
have reported. Threads that were started in another way are not known here, and the clock may jump past them.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_PATIENCE = 5.0
"""Real seconds that news may take where neither a timer nor a known thread is left to bring any."""


class JumpingSelector(selectors.DefaultSelector):
    """Never waits for time to pass: where nothing is ready, it is at once as late as the loop would have slept to.

    Attributes:
        now: the virtual time in seconds.
        threads: calls under way in other threads, which are waited for in real time.
    """

    now = 0.0
    threads = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready. Raises RuntimeError where nothing will ever be."""
        if timeout is not None and timeout <= 0:
            return super().select(0)
        if ready := super().select(0):
            return ready
        if self.threads:
            return super().select()
        if timeout is not None:
            self.now += timeout
            return []
        if ready := super().select(_PATIENCE):
            return ready
        raise RuntimeError("deadlock: every task waits, and no timer or thread is left to wake one")


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock starts at 0 and jumps from timer to timer."""

    def __init__(self) -> None:
        self._jumping = JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._jumping.now

    def run_in_executor(self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        """As any loop does it; virtual time stands still until the call has ended or nobody waits for it any more."""
        future = super().run_in_executor(executor, func, *args)
        self._jumping.threads += 1
        future.add_done_callback(self._reported)
        return future

    def shutdown_default_executor(self, timeout: float | None = None) -> Coroutine[Any, Any, None]:
        """Wait for the threads themselves: `timeout` would be over at once here."""
        return super().shutdown_default_executor()

    def _reported(self, future: asyncio.Future[Any]) -> None:
        self._jumping.threads -= 1


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in a virtual loop of its own; what it returns. Not from within a running loop."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
