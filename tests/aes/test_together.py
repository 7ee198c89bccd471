"""Several calls as one: one error, one cancellation, and nothing left running."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from aes.errors import EngineLost
from aes.together import together


async def after(seconds: float, result: Any = None, tidy: float = 0.0) -> Any:
    """Give a result, or raise it, after a while; being cancelled takes `tidy` seconds."""
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        await asyncio.sleep(tidy)
        raise
    if isinstance(result, BaseException):
        raise result
    return result


def test_results_come_in_order(virtual: Any) -> None:
    async def main() -> tuple[list[Any], list[Any], float]:
        nothing: list[Any] = await together([])
        return nothing, await together(after(3 - n, n) for n in range(3)), asyncio.get_running_loop().time()

    assert virtual(main()) == ([], [0, 1, 2], 3)


def test_the_first_error_ends_the_others_and_leaves_the_caller_as_it_was(virtual: Any) -> None:
    async def main() -> float:
        with pytest.raises(KeyError):
            await together([after(9), after(1, KeyError("x")), after(9, tidy=2)])
        task = asyncio.current_task()
        assert task is not None
        assert not task.cancelling()
        return asyncio.get_running_loop().time()

    assert virtual(main()) == 3


@pytest.mark.parametrize("order", [1, -1])
def test_a_lost_engine_hides_no_bug(virtual: Any, order: int) -> None:
    errors = [EngineLost("dead"), KeyError("x")][::order]
    with pytest.raises(KeyError):
        virtual(together([after(1, error) for error in errors]))
    with pytest.raises(EngineLost):
        virtual(together([after(1, EngineLost("dead")), after(9)]))


@pytest.mark.parametrize("moments", [[0.5], [1.5], [1.5, 2.0], [0.5, 1.5, 2.0]])
def test_a_cancellation_is_never_forgotten(virtual: Any, moments: list[float]) -> None:
    """It may come while a lost engine's other calls are being cleaned up, and more than once."""

    async def main() -> bool:
        task = asyncio.ensure_future(together([after(1, EngineLost("dead")), after(9, tidy=2)]))
        for moment in moments:
            asyncio.get_running_loop().call_later(moment, task.cancel)
        await asyncio.wait([task])
        return task.cancelled()

    assert virtual(main())
