"""How a process ended, what it leaves, and the guard inside it; with processes that are no engines."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

import pytest

from aes.engine import guard
from aes.engine.options import VllmOptions, environment
from aes.engine.process import EngineProcess

SPAWN = multiprocessing.get_context("spawn")


@pytest.fixture
def sleeper() -> Iterator[BaseProcess]:
    process = SPAWN.Process(target=time.sleep, args=(600,))
    process.start()
    yield process
    process.kill()
    process.join()


async def ending(process: BaseProcess, folder: Path, end: Callable[[EngineProcess], None]) -> str:
    """How a watched process is said to have ended."""
    said: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    watched = EngineProcess(process, folder, said.set_result)
    try:
        await asyncio.sleep(0.01)
        assert not said.done() or not process.is_alive()
        end(watched)
        return await asyncio.wait_for(said, 10)
    finally:
        watched.forget()


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (signal.SIGKILL, "its process was killed by SIGKILL (by somebody, or by the system for want of memory)"),
        (signal.SIGTERM, "its process was killed by SIGTERM"),
    ],
)
async def test_a_death_is_noticed_with_its_cause(
    sleeper: BaseProcess, tmp_path: Path, number: signal.Signals, words: str
) -> None:
    assert sleeper.pid is not None
    pid = sleeper.pid
    assert await ending(sleeper, tmp_path, lambda _: os.kill(pid, number)) == words


async def test_a_kill_is_a_death_like_any_other(sleeper: BaseProcess, tmp_path: Path) -> None:
    assert "SIGKILL" in await ending(sleeper, tmp_path, EngineProcess.kill)
    sleeper.join()


@pytest.mark.parametrize("reaped", [False, True])
async def test_a_process_that_has_ended_before_it_is_watched(tmp_path: Path, reaped: bool) -> None:
    process = SPAWN.Process(target=os._exit, args=(3,))
    process.start()
    if reaped:
        process.join()
    assert await ending(process, tmp_path, lambda _: None) == "its process ended with exit code 3"
    process.join()


async def test_nothing_is_left_of_a_process_that_was_killed(tmp_path: Path) -> None:
    folder = tmp_path / "engine"
    folder.mkdir()
    process = SPAWN.Process(target=_hold, args=(folder / "ready",))
    process.start()
    while not (folder / "ready").exists():  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    watched = EngineProcess(process, folder, lambda how: None)
    files = guard.shared_memory(process.pid or 0)
    assert sorted(file.name[:4] for file in files) == ["psm_", "sem."]
    watched.forget()
    await asyncio.to_thread(watched.clean)
    assert not process.is_alive()
    assert not folder.exists()
    assert not [file for file in files if file.exists()]


def _hold(ready: Path) -> None:
    """Hold a named semaphore and a block of shared memory, as an engine may."""
    kept = SPAWN.Lock(), SharedMemory(create=True, size=128)
    ready.touch()
    time.sleep(600)
    del kept


def test_shared_memory_is_known_by_what_is_mapped() -> None:
    lock = SPAWN.Lock()
    name = getattr(lock, "_semlock").name  # noqa: B009
    assert Path(f"/dev/shm/sem.{name.removeprefix('/')}") in guard.shared_memory(os.getpid())
    assert guard.shared_memory(2**22 + 1) == []


DRIVER = """
import os, signal, sys
from multiprocessing import get_context
from tests.aes.engine.test_process import guarded
if __name__ == "__main__":
    signal.signal(signal.SIGINT, lambda *_: print("heard", flush=True))
    os.environ["AES_DRIVER"], os.environ["AES_ENGINE_FOLDER"] = str(os.getpid()), sys.argv[1]
    engine = get_context("spawn").Process(target=guarded, args=(sys.argv[1],), name="EngineCore")
    engine.start()
    print(engine.pid, flush=True)
    engine.join()
"""


def guarded(folder: str) -> None:
    """What an engine's process does, as far as the guard goes."""
    guard.begin()
    Path(folder, "ready").touch()
    time.sleep(600)


def test_a_guarded_process_ends_with_its_driver_and_hears_no_interrupt(tmp_path: Path) -> None:
    folder = tmp_path / "engine"
    folder.mkdir()
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    command = [sys.executable, str(script), str(folder)]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        process_group=0,
        env={**os.environ, "PYTHONPATH": "."},
    ) as driver:
        assert driver.stdout is not None
        engine = int(driver.stdout.readline())
        _wait(lambda: (folder / "ready").exists())
        assert os.getpgid(engine) == os.getsid(engine) == engine
        os.killpg(driver.pid, signal.SIGINT)
        assert driver.stdout.readline() == b"heard\n"
        assert _title(engine)
        driver.kill()
        _wait(lambda: not folder.exists() and not _title(engine))


def _title(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def _wait(ready: Callable[[], bool]) -> None:
    ends = time.monotonic() + 20
    while not ready():
        assert time.monotonic() < ends
        time.sleep(0.02)


def test_a_guard_leaves_other_processes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.getsid(0)
    guard.begin()
    monkeypatch.setenv(guard.DRIVER, str(os.getpid()))
    guard.begin()
    assert os.getsid(0) == before


def test_the_environment_of_an_engine_is_restored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    before = dict(os.environ)
    with environment(VllmOptions("cpu:3"), tmp_path):
        assert [os.environ[name] for name in ("OMP_NUM_THREADS", "OMP_PLACES")] == ["1", "{3}"]
        assert os.environ["VLLM_RPC_BASE_PATH"] == os.environ[guard.FOLDER] == str(tmp_path)
        assert os.environ[guard.DRIVER] == str(os.getpid())
    assert dict(os.environ) == before
    with environment(VllmOptions("cuda:2"), tmp_path):
        assert os.environ["CUDA_VISIBLE_DEVICES"] == "2"
        assert os.environ["OMP_NUM_THREADS"] == "7"
    assert dict(os.environ) == before
