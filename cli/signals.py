"""Ctrl-C, termination and a closed terminal: the first ends the work well, the second at once; both close engines."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from cli.errors import Interrupted

T = TypeVar("T")


class Stop:
    """What a signal does.

    Attributes:
        number: the first signal that came, or None.
        gently: how to end well, once the work knows it; until then it is cancelled at once.
    """

    def __init__(self) -> None:
        self.number: int | None = None
        self.gently: Callable[[], None] | None = None


def run(work: Callable[[Stop], Coroutine[Any, Any, T]], say: Callable[[str], None]) -> T:
    """Run to the end. Raises Interrupted where a signal ended it, once it is closed, whatever it raised in the end."""
    # Given a factory, a Runner leaves the caller's current event loop alone, which asyncio.run takes away.
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        return runner.run(_guard(work, say))


async def _guard(work: Callable[[Stop], Coroutine[Any, Any, T]], say: Callable[[str], None]) -> T:
    loop, task, stop = asyncio.get_running_loop(), asyncio.current_task(), Stop()
    assert task is not None
    cancelled = False

    def tell(text: str) -> None:
        with contextlib.suppress(OSError):  # the terminal may be gone
            say(text)

    def heard(number: int) -> None:
        nonlocal cancelled
        if stop.number is None and stop.gently is not None:
            stop.number = number
            stop.gently()
            tell("stopping: waiting for what is being played (once more: stop at once)")
        elif not cancelled:  # a further one must not break the closing of engines
            stop.number, cancelled = stop.number or number, True
            task.cancel()
            tell("stopping: closing engines, a few seconds")

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in numbers:
        loop.add_signal_handler(number, heard, number)
    try:
        return await work(stop)
    except BaseException:
        if stop.number is not None:
            raise Interrupted(stop.number) from None
        raise
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
