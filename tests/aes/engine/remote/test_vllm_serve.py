"""Two real `vllm serve` processes, started with the lines that `aes engine` prints, and an engine here."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

import pytest
import pytest_asyncio

from aes import Config, Lora, Run
from aes.engine.model import BaseModel
from aes.engine.options import VllmOptions
from aes.engine.pool import Pool
from aes.engine.remote.client import RemoteEngine
from aes.engine.remote.line import line
from aes.engine.vllm import VllmEngine
from aes.errors import EngineUnfit
from aes.events import EngineDown, EngineUp, Event, Updated
from aes.protocols import Engine
from aes.types import Member, Sampling
from tests.aes.engine.test_vllm import TASK
from tests.aes.engine.test_vllm_revival import below, wait_until_gone
from tests.aes.runs import digests, of

pytestmark = [pytest.mark.vllm, pytest.mark.asyncio(loop_scope="module")]

TOKEN = "the-token-of-these-servers"
LORA = Lora(rank=2, targets=("down_proj", "q_proj"))
OPTIONS = VllmOptions("cpu:0", slots=4, context=256, cache_gib=1, sequences=32)
CONFIG = Config(
    updates=4, pairs=4, goals=3, max_lag=1, stale_frac=0.5, max_tokens=10, eval_every=2, eval_goals=6, lr=0.5
)
SECONDS = 300.0
"""For a server to be there, on a machine that does much else."""


class Server(NamedTuple):
    """One `vllm serve`."""

    process: subprocess.Popen[bytes]
    url: str


@pytest.fixture(scope="module")
def servers(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Server]]:
    """Both at once; each ends with all that it has started."""
    folder = tmp_path_factory.mktemp("servers")
    (folder / "token").write_text(TOKEN)
    logs: list[IO[bytes]] = []
    started: list[Server] = []
    try:
        for port in free_ports(2):
            printed = line(BaseModel.inspect(str(tiny_model)), LORA, OPTIONS, port=port, token_file=folder / "token")
            logs.append((folder / f"{port}.log").open("wb"))
            started.append(Server(start(printed, logs[-1]), f"http://127.0.0.1:{port}"))
        for server in started:
            wait_for(server, folder)
        yield started
    finally:
        for server in started:
            server.process.terminate()
        for server in started:
            server.process.wait(60)
        for log in logs:
            log.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def here(tiny_model: Path) -> AsyncIterator[VllmEngine]:
    async with VllmEngine(BaseModel.inspect(str(tiny_model)), LORA, OPTIONS) as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def expected(here: VllmEngine) -> list[str]:
    """The digests of the run on the engine here."""
    return digests(await events([here]))


async def events(engines: Sequence[Engine], struck: Server | None = None) -> list[Event]:
    """What a run on opened engines tells; one server is killed after the second update."""
    found = []
    async with Run(TASK, Pool(engines), CONFIG) as run:
        async for event in run:
            found.append(event)
            if struck is not None and isinstance(event, Updated) and event.update.version == 1:
                os.kill(struck.process.pid, signal.SIGKILL)
    return found


async def test_servers_elsewhere_come_to_what_the_engine_here_does(
    servers: list[Server], tiny_model: Path, expected: list[str]
) -> None:
    async with Pool([elsewhere(server, tiny_model) for server in servers]) as pool:
        assert (pool.slots, pool.context) == (8, 256)
        assert digests(await events([device.engine for device in pool.devices])) == expected
    assert len(set(expected)) == CONFIG.updates + 1


async def test_engines_here_and_elsewhere_together(
    servers: list[Server], tiny_model: Path, here: VllmEngine, expected: list[str]
) -> None:
    async with elsewhere(servers[0], tiny_model) as there:
        assert digests(await events([here, there])) == expected


async def test_what_one_observed_serves_the_other(servers: list[Server], tiny_model: Path, tmp_path: Path) -> None:
    """A is made on one server and travels to the other; both then answer alike, and export the same adapter."""
    lora = LORA.model_copy(update={"basis": "activations"})
    async with Pool([elsewhere(server, tiny_model, lora) for server in servers]) as pool:
        await pool.observe(True)
        async with pool.seat(Member(0)) as seat:
            await asyncio.gather(*(seat.generate([5, number, 7], Sampling(max_tokens=2)) for number in range(8, 40)))
        await pool.observe(False)
        await pool.start(1, 1.0, tmp_path / "basis.safetensors")
        engines = [device.engine for device in pool.devices]
        replies = await asyncio.gather(*(reply(engine, Member(0, 5, 1, 1.0)) for engine in engines))
        for number, engine in enumerate(engines):
            await engine.export(0, tmp_path / str(number))
    assert replies[0] == replies[1]
    weights = [(tmp_path / str(number) / "adapter_model.safetensors").read_bytes() for number in range(2)]
    assert weights[0] == weights[1]


async def test_a_second_driver_or_another_space_is_refused(servers: list[Server], tiny_model: Path) -> None:
    with pytest.raises(EngineUnfit, match=r"rank 8 at most, not 9.*adapts no .*gate_proj"):
        await elsewhere(servers[0], tiny_model, Lora(rank=9, targets=("gate_proj",))).look()
    with pytest.raises(EngineUnfit, match="another token"):
        await elsewhere(servers[0], tiny_model, token="some-other-token").look()


async def test_a_server_killed_in_a_run_is_a_lost_engine(
    servers: list[Server], tiny_model: Path, expected: list[str]
) -> None:
    first = servers[0]
    started = below(first.process.pid)
    async with Pool([elsewhere(server, tiny_model) for server in servers]) as pool:
        told = await events([device.engine for device in pool.devices], first)
    assert digests(told) == expected
    (down,) = of(EngineDown, told)
    assert (down.device, of(EngineUp, told)) == (first.url, [])
    assert await asyncio.to_thread(wait_until_gone, started) == set()


async def reply(engine: Engine, member: Member) -> tuple[int, ...]:
    async with engine.seat(member) as seat:
        return (await seat.generate([5, 6, 7], Sampling(max_tokens=16))).token_ids


def elsewhere(server: Server, model: Path, lora: Lora = LORA, token: str = TOKEN) -> RemoteEngine:
    return RemoteEngine(server.url, BaseModel.inspect(str(model)), lora, token)


def start(printed: str, log: IO[bytes]) -> subprocess.Popen[bytes]:
    """Run a printed line as a shell would, with this Python."""
    words = shlex.split(printed)
    first = next(number for number, word in enumerate(words) if "=" not in word)
    assert words[first] == "python"
    given = dict(word.split("=", 1) for word in words[:first])
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("AES_")}
    command = [sys.executable, *words[first + 1 :]]
    return subprocess.Popen(command, env=inherited | given, stdout=log, stderr=log, stdin=subprocess.DEVNULL)


def wait_for(server: Server, folder: Path) -> None:
    """Wait until a server listens."""
    ends = time.monotonic() + SECONDS
    host, port = server.url.removeprefix("http://").split(":")
    while True:
        try:
            socket.create_connection((host, int(port)), 1).close()
        except OSError:
            assert server.process.poll() is None, (folder / f"{port}.log").read_text()[-3000:]
            assert time.monotonic() < ends
            time.sleep(0.2)
        else:
            return


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
