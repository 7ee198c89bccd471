"""Events reach every listener in order; a slow reader misses the oldest and hears how many."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from aes.events import Bus, Evaluated, Event, Finished, Stream


def finished(version: int) -> Event:
    return Finished(version, 0.0)


async def test_a_stream_ends_after_what_is_in_it() -> None:
    stream = Stream()
    for version in range(3):
        stream.put(finished(version))
    stream.close()
    assert [event async for event in stream] == [finished(v) for v in range(3)]
    assert [event async for event in stream] == []


async def test_a_full_stream_forgets_the_oldest_and_counts_them() -> None:
    stream = Stream(limit=4)
    for version in range(10):
        stream.put(finished(version))
    stream.close()
    assert stream.forgotten == 6
    assert [event async for event in stream] == [finished(v) for v in range(6, 10)]


def test_a_waiting_reader_is_woken_by_news_and_by_the_end(virtual: Any) -> None:
    async def main() -> list[Event]:
        stream = Stream()
        loop = asyncio.get_running_loop()
        loop.call_later(5, stream.put, finished(1))
        loop.call_later(9, stream.close)
        return [event async for event in stream]

    assert virtual(main()) == [finished(1)]


def test_a_cancelled_reader_loses_nothing(virtual: Any) -> None:
    async def main() -> Event:
        stream = Stream()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(stream), 1)
        stream.put(finished(1))
        return await anext(stream)

    assert virtual(main()) == finished(1)


def test_listeners_hear_everything_in_order() -> None:
    bus, one, other = Bus(), list[Event](), list[Event]()
    bus.subscribe(one.append)
    bus.emit(finished(1))
    bus.subscribe(other.append)
    bus.emit(Evaluated(2, (), 0, 0, 0.0))
    assert (len(one), len(other)) == (2, 1)
