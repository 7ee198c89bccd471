"""A policy that says what it is told to, and one goal on the hand-made catalogue."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import Any

import pytest

from aes.structured import Structured
from aes.types import Completion, Episode, Message, Tool
from envs.webshop.catalog.catalog import Catalog
from envs.webshop.catalog.goals import Goal


class Script:
    """Says what it was told to, the last of it for ever; remembers what it was asked."""

    base_url = api_key = ""

    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)
        self.asked: list[list[Message]] = []
        self.stops: list[tuple[str, ...]] = []
        self.max_tokens: list[int | None] = []

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        seed: int | None = None,
        stop: Sequence[str] = (),
        structured: Structured | None = None,
        tools: Sequence[Tool] = (),
    ) -> Completion:
        self.asked.append(list(messages))
        self.stops.append(tuple(stop))
        self.max_tokens.append(max_tokens)
        text = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        return Completion(text, (1, 2), 3, "stop")


def finish(play: Coroutine[Any, Any, Episode]) -> Episode:
    """Run an episode without an event loop: a script never waits, so the first step is the last."""
    with pytest.raises(StopIteration) as stop:
        play.send(None)
    episode = stop.value.value
    assert isinstance(episode, Episode)
    return episode


@pytest.fixture
def shoes(catalog: Catalog) -> Goal:
    """Running shoes of size 8 in red | blue below 60 dollars."""
    wanted = {"size": "8", "color": "red | blue"}
    return next(goal for goal in catalog.goals("synthetic", "all") if goal.options == wanted)
