"""Virtual time: jumps are exact, and work in threads takes none of it."""

from __future__ import annotations

import asyncio
import threading

import pytest

from aes.simulation.loop import run


def test_sleeping_costs_nothing_and_order_is_exact() -> None:
    async def sleeper(seconds: float, log: list[tuple[float, float]]) -> None:
        await asyncio.sleep(seconds)
        log.append((seconds, asyncio.get_running_loop().time()))

    async def main() -> list[tuple[float, float]]:
        log: list[tuple[float, float]] = []
        await asyncio.gather(*(sleeper(seconds, log) for seconds in (3e6, 0.25, 7.0, 86400 * 3.0)))
        return log

    log = run(main())
    assert [seconds for seconds, _ in log] == [0.25, 7.0, 86400 * 3.0, 3e6]
    assert all(now == pytest.approx(seconds) for seconds, now in log)


def test_the_clock_stands_still_while_a_thread_works() -> None:
    """The thread ends only when it is let go, which happens in real time: a clock that jumps would be an hour late."""
    go = threading.Event()

    async def main() -> tuple[bool, float]:
        hour = asyncio.create_task(asyncio.sleep(3600))
        threading.Timer(0.05, go.set).start()
        done = await asyncio.to_thread(go.wait, 10)
        now = asyncio.get_running_loop().time()
        hour.cancel()
        return done, now

    assert run(main()) == (True, 0.0)


def test_a_thread_that_nobody_waits_for_holds_up_nothing() -> None:
    go = threading.Event()

    async def main() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await asyncio.to_thread(go.wait, 10)
        await asyncio.sleep(60)
        go.set()
        return asyncio.get_running_loop().time()

    assert run(main()) == 60.0


def test_a_deadlock_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aes.simulation.loop._PATIENCE", 0.01)

    async def main() -> None:
        await asyncio.wait([asyncio.get_running_loop().create_future()])

    with pytest.raises(RuntimeError, match="deadlock"):
        run(main())
