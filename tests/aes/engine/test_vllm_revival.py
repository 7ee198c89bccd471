"""Real engines that are killed: under load in a run, and left behind by a driver that is killed itself."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from aes import Config, Lora, Run
from aes.engine.guard import shared_memory
from aes.engine.model import BaseModel
from aes.engine.options import VllmOptions
from aes.engine.pool import Pool
from aes.engine.vllm import VllmEngine
from aes.events import EngineDown, EngineUp, EpisodeFailed, Evaluated, Event, Measured, Started, Updated
from tests.aes.engine.test_vllm import TASK

pytestmark = pytest.mark.vllm

LORA = Lora(rank=2, targets=("down_proj",))
OPTIONS = VllmOptions(slots=4, context=256, cache_gib=1, sequences=32, engine_seconds=10)
CONFIG = Config(
    updates=6, pairs=3, goals=2, max_lag=1, stale_frac=0.34, max_tokens=12, eval_every=3, eval_goals=6, lr=0.5
)
BLOWS = (4, 8, 13)
"""After so many measurements the engine's process is killed."""

SECONDS = 15.0
"""For everything that a killed driver had started to be gone; an engine that still imports vLLM ends after that."""


async def play(pool: Pool, blows: Collection[int], marks: set[Path], others: set[int]) -> tuple[list[Event], float]:
    """The events of a run that kills its own engine, and the longest time that a death went unnoticed."""
    measured, struck, unnoticed = 0, 0.0, 0.0
    events = []
    async with Run(TASK, pool, CONFIG) as run:
        async for event in run:
            events.append(event)
            if isinstance(event, EngineDown) and struck:
                unnoticed = max(unnoticed, time.monotonic() - struck)
            if isinstance(event, Measured):
                measured += 1
                if measured in blows:
                    (process,) = engine_processes() - others
                    marks |= traces(process)
                    os.kill(process, signal.SIGKILL)
                    struck = time.monotonic()
    return events, unnoticed


async def test_an_engine_killed_under_load_comes_back_and_nothing_is_lost(tiny_model: Path) -> None:
    """It hangs when the run begins, and is killed three times in its course."""
    engine = VllmEngine(BaseModel.inspect(str(tiny_model)), LORA, OPTIONS)
    marks, others = set[Path](), engine_processes()  # other tests may have an engine open
    async with Pool([engine], restarts=1 + len(BLOWS)) as pool:
        quiet, _ = await play(pool, (), marks, others)
        (process,) = engine_processes() - others
        os.kill(process, signal.SIGSTOP)
        events, unnoticed = await play(pool, BLOWS, marks, others)
    assert results(events) == results(quiet)
    first, *later = [event.reason for event in events if isinstance(event, EngineDown)]
    assert first == "no answer for 10 s (engine_seconds)"
    assert len(later) == len(BLOWS)
    assert all("killed by SIGKILL" in reason for reason in later)
    assert sum(isinstance(event, EngineUp) for event in events) == 1 + len(BLOWS)
    assert not any(isinstance(event, EpisodeFailed) for event in events)
    assert unnoticed < 3
    assert engine_processes() <= others
    assert marks
    assert not [mark for mark in marks if mark.exists()]


def results(events: list[Event]) -> tuple[list[str], list[tuple[float, ...]]]:
    """Digests of all versions, and scores."""
    digests = [event.digest for event in events if isinstance(event, Started | Updated)]
    return digests, [event.scores for event in events if isinstance(event, Evaluated)]


def engine_processes() -> set[int]:
    """The engine processes of this one."""
    return {child.pid for child in multiprocessing.active_children() if child.name == "EngineCore" and child.pid}


def traces(process: int) -> set[Path]:
    """What an engine process must not leave: its shared memory and its folder."""
    environment = Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    folder = next(entry.partition(b"=")[2] for entry in environment if entry.startswith(b"AES_ENGINE_FOLDER="))
    return {*shared_memory(process), Path(folder.decode())}


@pytest.fixture
def driver(tiny_model: Path) -> Iterator[subprocess.Popen[str]]:
    """A driver in a process group of its own, with its engine on the way."""
    command = [sys.executable, "-m", "tests.aes.engine.driver", str(tiny_model)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, process_group=0)
    yield process
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def test_a_killed_driver_leaves_nothing_and_an_interrupt_is_its_alone(driver: subprocess.Popen[str]) -> None:
    assert driver.stdout is not None
    assert driver.stdout.readline() == "open\n"
    engine, *others = sorted(below(driver.pid), key=lambda process: "EngineCore" not in title(process))
    marks = traces(engine)
    os.killpg(driver.pid, signal.SIGINT)  # as Ctrl-C at a terminal does
    assert driver.stdout.readline() == "heard\n"
    driver.kill()
    assert wait_until_gone({engine, *others}) == set()
    assert not [mark for mark in marks if mark.exists()]


def test_an_engine_whose_driver_is_killed_while_it_starts_is_gone_too(driver: subprocess.Popen[str]) -> None:
    while not any("spawn_main" in title(process) for process in below(driver.pid)):
        time.sleep(0.05)
    started = below(driver.pid)
    driver.kill()
    assert wait_until_gone(started, 3 * SECONDS) == set()


def below(process: int) -> set[int]:
    """The processes that one has started, and those that they have."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    parents = {int(child): int(parent) for child, parent in map(str.split, listed.splitlines())}
    found = {process}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {process}


def title(process: int) -> str:
    """A process's command line; nothing when it is gone."""
    try:
        return Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def wait_until_gone(processes: set[int], seconds: float = SECONDS) -> set[int]:
    """The processes that are still there after the time they may take to go; those that nobody waits for are gone."""
    ends = time.monotonic() + seconds
    while left := {process for process in processes if title(process)}:
        if time.monotonic() > ends:
            break
        time.sleep(0.1)
    return left
