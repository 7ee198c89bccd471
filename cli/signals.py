"""Ctrl-C, termination and a closed terminal as a clean stop: what runs is cancelled once and closes its engines."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from cli.errors import Interrupted

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T], say: Callable[[str], None]) -> T:
    """Run to the end. Raises Interrupted, whatever the cancelled work raised, once it is closed."""
    # Given a factory, a Runner leaves the caller's current event loop alone, which asyncio.run takes away.
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        return runner.run(_guard(work, say))


async def _guard(work: Coroutine[Any, Any, T], say: Callable[[str], None]) -> T:
    loop, task, got = asyncio.get_running_loop(), asyncio.current_task(), list[int]()
    assert task is not None

    def stop(number: int) -> None:
        got.append(number)
        if len(got) == 1:  # a second one must not break the closing of engines
            task.cancel()
            with contextlib.suppress(OSError):  # the terminal may be gone
                say("stopping: closing engines, a few seconds")

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in numbers:
        loop.add_signal_handler(number, stop, number)
    try:
        return await work
    except BaseException:
        # A terminal sends Ctrl-C to engine processes too, so it may be their death that is seen first.
        if got:
            raise Interrupted(got[0]) from None
        raise
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
