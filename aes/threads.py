"""A thread of its own for an environment that blocks: the event loop goes on meanwhile."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from typing import Any, Self, TypeVar

T = TypeVar("T")


class EpisodeThread:
    """Does calls one after the other, all in one thread, as databases and browsers want it.

    Leaving waits for nothing: a call that is under way is abandoned with the thread, which ends when the call does. The
    thread keeps no program from ending.
    """

    def __init__(self) -> None:
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()

    def __enter__(self) -> Self:
        threading.Thread(target=self._work, name="aes environment", daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._calls.put(None)

    async def call(self, function: Callable[..., T], *arguments: Any, **options: Any) -> T:
        """What the function returns or raises. Cancelling ends the wait, not the call."""
        future: Future[T] = Future()
        self._calls.put(partial(_settle, future, partial(function, *arguments, **options)))
        return await asyncio.wrap_future(future)

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            call()


def _settle(future: Future[T], call: Callable[[], T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except StopIteration as error:  # no future of asyncio takes it
        future.set_exception(RuntimeError(f"StopIteration: {error}"))
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)
