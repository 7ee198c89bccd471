from __future__ import annotations

import io
from collections.abc import AsyncIterator, Sequence

import pytest
from rich.console import Console

from aes.config import Config
from aes.errors import DataError
from aes.events import EngineDown, EngineUp, EpisodeFailed, Evaluated, Event, Measured, Updated
from aes.metrics import Metrics
from aes.types import Measurement, Proposal, Term, Update
from cli.view.board import Board
from cli.view.live import LiveView, big, clock, frame


class Hands:
    """A clock that moves when told."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def updated(version: int, *, lags: tuple[int, ...] = (0, 1), skipped: bool = False, idle: float = 0.0) -> Updated:
    terms = () if skipped else (Term(1, 0.5),)
    return Updated(Update(version, terms), (0, 1), lags, 0.4, 0.1, "d", {}, skipped, seconds=2.0, idle=idle)


def measured(episodes: int, tokens: int) -> Measured:
    proposal = Proposal(0, 1, 0, 1.0, (1, -1), (0,))
    return Measured(Measurement(proposal, (0.5, 0.3), episodes, 1, tokens, 4, 1, 1.0))


class Scene:
    """A board on a clock of its own."""

    def __init__(self, **config: object) -> None:
        self.hands = Hands()
        self.metrics = Metrics()
        self.seats: Sequence[tuple[str, int]] = (("cpu:0", 3), ("cpu:1", 5))
        settings = Config.parse({"updates": 10, **config})
        self.board = Board("aes webshop", settings, self.metrics, lambda: self.seats, 4, self.hands)

    def tell(self, *events: Event) -> None:
        for event in events:
            self.metrics(event)
            self.board.note(event)

    def text(self, width: int = 100) -> str:
        console = Console(file=io.StringIO(), width=width, force_terminal=False, color_system=None)
        console.print(frame(self.board))
        assert isinstance(console.file, io.StringIO)
        return console.file.getvalue()


def test_a_run_that_has_just_begun() -> None:
    text = Scene().text()
    assert "update 0 of 10" in text
    assert "being measured" in text
    assert "nothing consumed yet" in text


def test_the_frame_tells_what_a_person_watches() -> None:
    scene = Scene()
    scene.tell(measured(64, 2000), Evaluated(0, (0.2, 0.4), 0, 0, 1.0), updated(0, idle=0.02))
    scene.tell(Evaluated(1, (0.6, 0.8), 1, 0, 1.0), updated(1))
    scene.tell(EpisodeFailed(0, 1, "environment", "x", False), EpisodeFailed(0, 1, "timeout", "no \x1b[2J end", True))
    scene.tell(EpisodeFailed(0, 2, "timeout", "no \x1b[2J end" + " at all" * 99, True))
    scene.hands.now = 10.0
    text = scene.text()
    for said in (
        "update 2 of 10",
        "20%",
        "0:10 gone, 0:14 left",
        "0.700 ± 0.196  at v1",
        "success   50.0%",
        "base      0.300  +0.400",
        "0.400  in the last update",
        "cpu:0",
        "3/4",
        "4/4 + evaluation",
        "the engines are busy",
        "6.4 episodes/s   200 tokens/s",
        "2 failed (2 timeout), 1 tried again   0 updates skipped",
        "  last   timeout: no [2J end at all at all",
    ):
        assert said in text
    assert "\x1b" not in text
    assert len(text.splitlines()) < 25
    assert "! " not in text


@pytest.mark.parametrize("width", [80, 100, 140])
def test_the_frame_keeps_to_the_terminal(width: int) -> None:
    scene = Scene()
    scene.tell(updated(0), Evaluated(0, (0.2, 0.4), 0, 0, 1.0))
    lines = scene.text(width).splitlines()
    assert {len(line) for line in lines} == {width}
    assert len(lines) < 24


def test_many_lags_are_summed_up() -> None:
    scene = Scene(max_lag=16)
    scene.tell(*(updated(v, lags=(v, v)) for v in range(9)))
    assert "other" in scene.text()


def test_updates_that_change_nothing_raise_a_warning() -> None:
    scene = Scene(sigma=0.001)
    scene.tell(updated(0, skipped=True), updated(1, skipped=True))
    assert "too small" not in scene.text()
    scene.tell(updated(2, skipped=True))
    assert "sigma 0.001 is too small (raise --sigma)" in scene.text()
    scene.tell(updated(3))
    assert "too small" not in scene.text()


def test_waiting_players_are_explained() -> None:
    waiting = Scene(max_lag=0)
    waiting.tell(updated(0, lags=(0, 0), idle=0.5))
    assert "players wait 50% for updates: synchronous" in waiting.text()
    bound = Scene(max_lag=1)
    bound.tell(updated(0, idle=0.5))
    assert "room under the bound" in bound.text()


def test_a_lost_engine_is_one_line_until_it_is_back() -> None:
    scene = Scene()
    scene.tell(updated(0), EngineDown("cpu:1", "its process was killed by \x1b[2J SIGKILL" + " and more" * 20, 2))
    text = scene.text()
    assert "! engine cpu:1 is lost, opening it again (2 restarts left): its process was killed by [2J SI" in text
    assert [line for line in text.splitlines() if "cpu:1 " in line and "lost" in line and "5/4" not in line]
    assert len(text.splitlines()) < 25
    scene.tell(EngineUp("cpu:1", 12.0))
    assert "lost" not in scene.text()
    scene.tell(EngineDown("cpu:1", "no memory", 1), EngineDown("cpu:1", "no memory", 0))
    assert "! engine cpu:1 is lost for good: no memory" in scene.text()
    assert scene.metrics.summary()["engines_lost"] == 3


def test_time_and_counts_are_short() -> None:
    assert [clock(s) for s in (0, 59.2, 3599, 3700)] == ["0:00", "1:00", "59:59", "1 h 01 min"]
    assert [big(n) for n in (9_999, 10_000, 1_048_576, 25e9)] == ["9,999", "10.0 k", "1.0 M", "25.0 G"]


async def test_what_ends_the_events_ends_the_view_as_it_is() -> None:
    scene, console = Scene(), Console(file=io.StringIO(), width=100)

    async def events() -> AsyncIterator[Event]:
        scene.tell(updated(0))
        yield updated(0)
        raise DataError("journal.jsonl:7: not as it was written")

    with pytest.raises(DataError, match="not as it was written"):
        await LiveView(console).follow(events(), scene.board)
    assert isinstance(console.file, io.StringIO)
    assert "update 1 of 10" in console.file.getvalue()
