"""A task that can be learned in milliseconds, and virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from random import Random
from typing import Any, Protocol, TypeVar

import pytest

from aes import ChatTask
from aes.simulation import loop

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

        return loop.run(alone())

    return run
