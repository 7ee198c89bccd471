"""A task that can be learned in milliseconds, and virtual time."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from random import Random
from typing import Any, Protocol, TypeVar

import pytest

from aes import ChatTask

T = TypeVar("T")

COLOURS = ("red", "green", "blue", "amber", "violet")


class Shelf:
    """Two turns: take the colour that the goal names, among four in an order of the goal's own."""

    def __init__(self, goal: int) -> None:
        self._colour = COLOURS[goal % 5]
        others = [colour for colour in COLOURS if colour != self._colour]
        self._shown = Random(goal).sample([self._colour, *others[:3]], 4)
        self._turn = 0

    def reset(self, *, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        return f"{self._colour} please\n{self._choice()}", {}

    def step(self, text: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self._turn += 1
        reward = 0.5 * (text == f"take[{self._colour}]")
        return self._choice(), reward, self._turn == 2, False, {}

    def _choice(self) -> str:
        return " ".join(f"take[{colour}]" for colour in self._shown)


class JumpingSelector(selectors.DefaultSelector):
    """Never waits for time to pass: where nothing is ready, it is at once as late as the loop would have slept to."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:  # no timer is set: only a thread can bring news, and none takes that long
            ready = super().select(5)
            if not ready:
                raise RuntimeError("deadlock: every task waits, and no timer or thread is left to wake one")
            return ready
        ready = super().select(0)
        if not ready:
            self.now += max(timeout, 0)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock starts at 0 and jumps from timer to timer."""

    def __init__(self) -> None:
        self._jumping = JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


class Virtual(Protocol):
    """Runs a coroutine to its end in a loop of its own."""

    def __call__(self, main: Coroutine[Any, Any, T]) -> T: ...


@pytest.fixture(scope="session")
def shelf() -> ChatTask:
    """A ChatTask of 60 training and 40 held-out goals; chance level is 0.25."""
    return ChatTask("shelf", Shelf, range(60), range(100, 140))


@pytest.fixture(scope="session")
def virtual() -> Virtual:
    """Virtual time from 0: sleeping costs nothing, order is exact, and no task may be left at the end."""

    def run(main: Coroutine[Any, Any, T]) -> T:
        async def alone() -> T:
            result = await main
            assert asyncio.all_tasks() == {asyncio.current_task()}
            return result

        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            return runner.run(alone())

    return run
