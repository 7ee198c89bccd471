"""`aes watch`: a run that another process makes is seen as its journal grows, stopped, resumed and finished."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from aes.events import Event, Finished
from aes.lock import Lock
from aes.past import Past
from cli.watch import Watched
from tests.aes.test_security import HEAD, STARTED, forge
from tests.cli.conftest import Aes
from tests.cli.recorded_runs import cut, record


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.watch.POLL_S", 0.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return record(tmp_path / "run")


class Writer:
    """Another process, as far as a reader can tell: it holds the lock and appends a journal's lines."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.journal = folder, folder / "journal.jsonl"
        self.lines = self.journal.read_bytes().splitlines(keepends=True)
        self.lock = Lock(folder)
        self.journal.write_bytes(b"")

    def write(self, start: int, end: int, torn: bytes = b"") -> None:
        with self.journal.open("ab") as file:
            file.write(b"".join(self.lines[start:end]) + torn)

    def resume(self, end: int) -> None:
        self.lock = Lock(self.folder)
        os.truncate(self.journal, sum(map(len, self.lines[:end])))


async def test_a_run_is_followed_until_it_finishes(folder: Path) -> None:
    expected: list[Event] = []
    Past.read(folder, expected.append)
    writer, seen, said = Writer(folder), list[Event](), list[str]()
    writer.write(0, 20, b'{"event":"Meas')
    watched = Watched(folder)
    assert watched.running

    def told(words: str) -> None:
        """It was killed in the middle of a line; now it is resumed, and then ends."""
        said.append(words)
        if words.startswith("it has stopped"):
            assert len(seen) == 19
            writer.resume(20)
            writer.write(20, 40)
        else:
            assert len(seen) == 39
            writer.write(40, len(writer.lines))

    async for event in watched.events(told):
        seen.append(event)
        if len(seen) == 19:
            writer.lock.release()
    writer.lock.release()
    assert seen == expected
    assert said == [f"it has stopped; waiting for: aes resume {folder} (Ctrl-C leaves)", "it goes on"]
    assert isinstance(seen[-1], Finished)
    assert watched.metrics.summary()["evaluations"]


async def test_its_clock_is_the_run_s_own(folder: Path) -> None:
    writer = Writer(folder)
    writer.write(0, 20)
    os.utime(writer.journal, (time.time() - 100, time.time() - 100))
    watched, frozen = Watched(folder), list[bool]()
    events = watched.events(lambda words: None)
    for _ in range(19):
        await anext(events)
        frozen.append(watched.board.elapsed == watched.past.seconds)  # while it catches up, time is the event's
    assert all(frozen)
    waiting = asyncio.ensure_future(anext(events))
    await asyncio.sleep(0)  # it has read all there is, and waits
    assert 100 < watched.board.elapsed - watched.past.seconds < 200  # it goes on, and its last event was long ago
    writer.write(20, len(writer.lines))
    writer.lock.release()
    await waiting
    async for _ in events:
        pass
    assert watched.board.elapsed == watched.past.seconds


def test_members_in_flight_are_those_that_are_out(folder: Path) -> None:
    watched = Watched(cut(folder, "Dispatched", 3))
    assert list(watched.board.load()) == [("cpu", 0)]
    for _ in watched.past.catch_up(watched._reader):
        pass
    out = sum(len(p.signs) for i, p in watched.past.open.items() if i not in watched.past.arrived)
    assert 0 < out <= 6
    assert list(watched.board.load()) == [("cpu", out)]


def test_a_finished_run_is_told_whole(tmp_path: Path, aes: Aes) -> None:
    record(tmp_path / "run")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*")}
    code, out, err = aes("watch", "run")
    assert (code, err) == (0, "")
    assert out.index("started:") < out.index("update 1/6") < out.index("update 6/6") < out.index("finished")
    assert "trained" in out.split("finished")[1]
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*")} == before


def test_a_stopped_run_is_told_as_far_as_it_is(tmp_path: Path, aes: Aes) -> None:
    cut(record(tmp_path / "run"), "Updated", 3, b'{"event":"Meas')
    code, out, err = aes("watch", "run")
    assert (code, err) == (0, "")
    assert "update 3/6" in out
    assert "update 4/6" not in out
    assert out.endswith("it is stopped, at version 3; go on with: aes resume run\n")


def test_ctrl_c_leaves_the_run_alone(tmp_path: Path) -> None:
    folder = cut(record(tmp_path / "run"), "Updated", 3)
    lock = Lock(folder)
    command = [sys.executable, "-c", "from cli.aes_app import main; main()", "watch", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "update 3/" in line:
                break
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    lock.release()
    assert (process.returncode, err) == (130, "aes: stopped by SIGINT; the run is left alone\n")


@pytest.mark.parametrize(
    ("records", "said"),
    [
        ((), "its journal is empty"),
        ((b"\x00\x1b[2J\n",), "not a journal of format 2"),
        ((HEAD, STARTED, STARTED), "the run begins a second time"),
        ((HEAD | {"config": {"pairs": "x" * 9000}},), "pairs = 'xxx"),
    ],
)
def test_garbage_is_one_line(
    records: tuple[bytes, ...], said: str, tmp_path: Path, refused: Callable[..., str]
) -> None:
    forge(tmp_path / "run", *records)
    line = refused("watch", "run")
    assert said in line
    assert len(line) < 600


def test_what_strangers_call_things_is_shown_safely(tmp_path: Path) -> None:
    about = {"devices": ["\x1b[2J[red]" * 99], "slots": "many", "model": 7}
    head = HEAD | {"task": {"name": "[bold]\x1b]0;x\x07" + "y" * 999}, "about": about}
    board = Watched(forge(tmp_path, head, STARTED)).board
    assert "\x1b" not in board.title
    assert len(board.title) < 150
    assert "\\[bold]" in board.title
    assert list(board.load()) == [("[2J[red][2J[", 0)]
