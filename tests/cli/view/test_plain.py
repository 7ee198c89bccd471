"""Log lines: failures are told once an update, with their kinds and the last reason; lost engines at once."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator
from typing import Any

from rich.console import Console

from aes.events import EngineDown, EngineUp, EpisodeFailed, Evaluated, Event
from cli.view.plain import PlainView
from tests.cli.view.test_live import Scene, updated


def told(*events: Event) -> list[str]:
    """What the view writes of these events, without the times."""
    scene, console = Scene(), Console(file=io.StringIO(), width=100)

    async def run() -> AsyncIterator[Event]:
        for event in events:
            scene.metrics(event)
            yield event

    following: Any = run()
    asyncio.run(PlainView(console).follow(following, scene.board))
    assert isinstance(console.file, io.StringIO)
    return [line.partition("] ")[2] for line in console.file.getvalue().splitlines()]


def test_failures_are_told_when_there_are_new_ones() -> None:
    once = EpisodeFailed(0, 1, "environment", "no \x1b[2J stock", False)
    lines = told(updated(0), once, EpisodeFailed(0, 2, "timeout", "too long", True), updated(1), updated(2))
    assert [line.partition(":")[0] for line in lines] == ["update 1/10", "update 2/10", "episodes", "update 3/10"]
    assert lines[2] == "episodes: 1 failed (1 timeout), 1 tried again; the last: timeout: too long"
    assert told(once, updated(0))[1].endswith("the last: environment: no [2J stock")


def test_an_evaluation_tells_why_goals_failed() -> None:
    (line,) = told(Evaluated(0, (0.5, float("nan")), 0, 1, 1.0, why="1 timeout; most often timeout: \x1b too long"))
    assert line.endswith("of 1 goals, 1 failed (1 timeout; most often timeout:  too long)")


def test_a_lost_engine_is_told_and_its_return() -> None:
    lines = told(EngineDown("cuda:1", "no \x1b memory", 1), EngineUp("cuda:1", 20.5), EngineDown("cuda:1", "dead", 0))
    assert lines == [
        "engine cuda:1 is lost, opening it again (1 restart left): no  memory",
        "engine cuda:1 is back after 20.5 s",
        "engine cuda:1 is lost for good: dead",
    ]
