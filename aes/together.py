"""Several calls at once, as one: for calls that may find their engine lost, after which the caller goes on.

A TaskGroup would not do there. In Python 3.11 one whose child has failed leaves its task marked as being cancelled, and
one that is cancelled from outside while a failed child is cleaned up after forgets that: its task would go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

from aes.errors import EngineLost

T = TypeVar("T")


async def together(calls: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The results of all calls, in their order.

    The first error cancels the other calls and is raised when they have ended; a lost engine is named only where
    nothing else is wrong. Cancelling cancels the calls and passes on when they have ended.
    """
    tasks = [asyncio.ensure_future(call) for call in calls]
    try:
        if tasks:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        errors = await _end(tasks)
    if errors:
        raise next((error for error in errors if not isinstance(error, EngineLost)), errors[0])
    return [task.result() for task in tasks]


async def _end(tasks: list[asyncio.Task[T]]) -> list[BaseException]:
    """Cancel tasks and wait for their end, however often we are cancelled ourselves meanwhile; their errors."""
    cancelled: asyncio.CancelledError | None = None
    for task in tasks:
        task.cancel()
    while not all(task.done() for task in tasks):
        try:
            await asyncio.wait(tasks)
        except asyncio.CancelledError as error:
            cancelled = error
            for task in tasks:
                task.cancel()
    errors = [failed for task in tasks if not task.cancelled() and (failed := task.exception()) is not None]
    if cancelled is not None:
        raise cancelled
    return errors
