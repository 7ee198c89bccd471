"""What benchmarks are built of: conversations of set lengths, and requests that leave turn by turn."""

from __future__ import annotations

import asyncio
import math
import statistics
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from aes.types import Completion, Sampling
from benchmarks.in_place import InPlaceEngine, Lockstep
from benchmarks.talk import LONGEST, Talk


def test_episodes_without_a_spread_are_of_one_length() -> None:
    assert {Talk(["a"], 4.0, 0.0).length(goal) for goal in range(100)} == {4}


@pytest.mark.parametrize("spread", [0.5, 1.0])
def test_lengths_are_lognormal_and_the_same_each_time(spread: float) -> None:
    talk = Talk(["a"], 6.0, spread)
    lengths = [talk.length(goal) for goal in range(4000)]
    assert lengths == [talk.length(goal) for goal in range(4000)]
    assert 1 <= min(lengths) <= max(lengths) <= LONGEST
    middle = math.exp(math.log(6.0) - spread**2 / 2)
    assert abs(statistics.median(lengths) - middle) <= 0.5
    ends = statistics.quantiles([math.log(length) for length in lengths], n=20)
    assert abs((ends[14] - ends[4]) / 1.349 - spread) < 0.25 * spread  # the quartiles, which nothing has cut


class Echo:
    """Answers with the prompt, and remembers what came at once."""

    def __init__(self) -> None:
        self.batches = list[list[int]]()
        self._open = list[int]()

    async def complete(self, _: Any, prompt: Sequence[int], sampling: Sampling, request: Any) -> Completion:
        assert request is None
        if not self._open:
            asyncio.get_running_loop().call_soon(self._close)
        self._open.append(prompt[0])
        if prompt[0] < 0:
            raise ValueError("refused")
        return Completion("", tuple(prompt), len(prompt), "stop")

    def _close(self) -> None:
        self.batches.append(sorted(self._open))
        self._open = []


async def test_a_turn_leaves_when_all_have_come_to_it_or_have_ended() -> None:
    echo = Echo()
    seat = Lockstep(cast("InPlaceEngine", echo), cast("Any", SimpleNamespace()), 3)

    async def episode(number: int) -> None:
        for turn in range(number):
            reply = await seat.generate([10 * number + turn], Sampling())
            assert reply.token_ids == (10 * number + turn,)
        seat.ended()

    await asyncio.gather(*map(episode, (1, 2, 3)))
    assert echo.batches == [[10, 20, 30], [21, 31], [32]]


async def test_whoever_waits_for_a_turn_hears_of_its_error() -> None:
    seat = Lockstep(cast("InPlaceEngine", Echo()), cast("Any", SimpleNamespace()), 2)
    found = await asyncio.gather(*(seat.generate([n], Sampling()) for n in (-1, 1)), return_exceptions=True)
    assert [str(error) for error in found] == ["refused", "refused"]
