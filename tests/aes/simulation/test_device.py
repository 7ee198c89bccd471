"""A device in virtual time: closed cases by hand, and laws of the queue."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aes.simulation.device import Device
from aes.simulation.loop import run
from aes.simulation.speed import Curve, Speed

EVEN = Speed(Curve.linear(0.1, 0.0))
"""A step takes as long for many as for one."""

Job = tuple[float, int]
"""When it comes, and its tokens."""


def ends(speed: Speed, sequences: int, jobs: Sequence[Job], prompt: int = 0) -> tuple[list[float], Device]:
    async def job(device: Device, at: float, tokens: int) -> float:
        await asyncio.sleep(at)
        await device.decode(prompt, tokens)
        return asyncio.get_running_loop().time()

    async def main() -> tuple[list[float], Device]:
        device = Device(speed, sequences)
        return await asyncio.gather(*(job(device, *each) for each in jobs)), device

    return run(main())


def test_one_alone_takes_its_tokens_times_a_step() -> None:
    assert ends(EVEN, 4, [(0, 50)])[0] == pytest.approx([5.0])


def test_those_that_are_decoded_together_share_every_step() -> None:
    """b = 2 for 10 steps of 0.2 s, then the longer one alone for 10 of 0.1 s."""
    speed = Speed(Curve.linear(0.0, 0.1))
    assert ends(speed, 4, [(0, 10), (0, 20)])[0] == pytest.approx([2.0, 3.0])


def test_one_that_comes_later_slows_the_others_from_then_on() -> None:
    """10 steps alone in 1 s; then both: the first needs 10 more at 0.2 s, the second 5 alone afterwards."""
    speed = Speed(Curve.linear(0.0, 0.1))
    assert ends(speed, 4, [(0, 20), (1.0, 15)])[0] == pytest.approx([3.0, 3.5])


def test_more_than_its_sequences_wait_in_line() -> None:
    done, device = ends(EVEN, 2, [(0, 10), (0, 20), (0, 10), (0, 10)])
    assert done == pytest.approx([1.0, 2.0, 2.0, 3.0])
    assert device.most == 2


def test_a_prefill_stops_everybody() -> None:
    """The second one's prompt takes 3 s, in which the first gets nothing."""
    speed = Speed(Curve.linear(0.1, 0.0), prefill=0.75)
    assert ends(speed, 4, [(0, 10), (3.5, 10)], prompt=4)[0] == pytest.approx([7.0, 7.5])


def test_a_stall_is_waited_for_and_stops_everybody() -> None:
    async def main() -> tuple[float, float]:
        device = Device(EVEN, 4)
        decoding = asyncio.create_task(device.decode(0, 10))
        await asyncio.sleep(0.5)
        await device.stall(2.0)
        stalled = asyncio.get_running_loop().time()
        await decoding
        return stalled, asyncio.get_running_loop().time()

    assert run(main()) == pytest.approx((2.5, 3.0))


def test_one_that_is_given_up_leaves_its_place() -> None:
    async def main() -> tuple[float, float]:
        device = Device(Speed(Curve.linear(0.0, 0.1)), 1)
        first, second = (asyncio.create_task(device.decode(0, 100)), asyncio.create_task(device.decode(0, 10)))
        waiting = asyncio.create_task(device.decode(0, 10))
        await asyncio.sleep(1.0)
        first.cancel()
        waiting.cancel()
        await asyncio.wait([first, second, waiting])
        return asyncio.get_running_loop().time(), device.tokens

    assert run(main()) == pytest.approx((2.0, 20.0))


jobs = st.lists(st.tuples(st.floats(0, 20), st.integers(1, 60)), min_size=1, max_size=20)


@given(jobs=jobs, sequences=st.integers(1, 6))
def test_work_is_conserved(jobs: list[Job], sequences: int) -> None:
    """With steps of one length, nobody is faster than alone, and all together no faster than full batches."""
    done, device = ends(EVEN, sequences, jobs)
    total = sum(tokens for _, tokens in jobs)
    assert device.tokens == pytest.approx(total)
    assert device.most <= sequences
    assert max(done) >= min(at for at, _ in jobs) + total * 0.1 / sequences - 1e-6
    assert all(end >= at + tokens * 0.1 - 1e-6 for end, (at, tokens) in zip(done, jobs, strict=True))
    assert device.busy <= max(done) + 1e-6


@given(jobs=jobs)
def test_a_step_as_long_as_its_batch_serves_one_after_the_other_as_fast(jobs: list[Job]) -> None:
    """Where batching gains nothing, the device is never idle with work to do: it ends when one server would."""
    done, device = ends(Speed(Curve.linear(0.0, 0.1)), 100, jobs)
    free = 0.0
    for at, tokens in sorted(jobs):
        free = max(free, at) + tokens * 0.1
    assert max(done) == pytest.approx(free, abs=1e-6)
    assert device.busy == pytest.approx(sum(tokens for _, tokens in jobs) * 0.1, abs=1e-6)
