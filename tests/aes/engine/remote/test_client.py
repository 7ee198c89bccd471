"""Whole runs on servers elsewhere, and all that may happen to a driver and its servers on the way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio
from safetensors.torch import load_file

from aes import ChatTask, Lora, Run
from aes.engine.fake import FakeEngine
from aes.engine.pool import Pool
from aes.engine.remote import client, connection
from aes.engine.remote.link import Busy
from aes.errors import EngineError, EngineLost, EngineUnfit
from aes.events import EngineDown, EngineUp, Event, Updated
from aes.protocols import Engine
from aes.types import Member, Sampling, Term, Update
from tests.aes.engine.remote.serving import BASIS, LORA, MODEL, TOKEN, Elsewhere, FakeHost, Serving, until
from tests.aes.runs import config, digests, of, played

CONTROLLED = config(max_lag=2, stale_frac=0.5)


@pytest_asyncio.fixture
async def server() -> AsyncIterator[Serving]:
    async with Serving() as opened:
        yield opened


@pytest.fixture
def prompt() -> list[int]:
    return list(b"\x1euser\x1fred please\ntake[red] take[blue]\x1eassistant\x1f")


def local() -> FakeEngine:
    return FakeEngine(dim=256, slots=4)


def test_the_dimensions_agree() -> None:
    assert FakeHost().space(LORA).dim == 256


async def test_a_run_elsewhere_is_the_run_here(shelf: ChatTask) -> None:
    async with Serving() as one, Serving() as two:
        elsewhere = await played(shelf, Pool([one.engine(), two.engine()]), CONTROLLED)
        assert all(host.last.load == (("fake", 0),) for host in (one.host, two.host))
    here = await played(shelf, local(), CONTROLLED)
    assert digests(elsewhere) == digests(here)
    assert of(Updated, elsewhere)[-1].lags == of(Updated, here)[-1].lags


async def test_engines_here_and_elsewhere_make_one_pool(server: Serving, shelf: ChatTask) -> None:
    pools: list[list[Engine]] = [[local(), server.engine()], [server.engine(), local()]]
    for engines in pools:
        assert digests(await played(shelf, Pool(engines), CONTROLLED)) == digests(
            await played(shelf, local(), CONTROLLED)
        )


async def struck(task: ChatTask, engines: list[Engine], server: Serving, back: bool) -> list[Event]:
    """A run whose server is killed after its first update, and started again once that is noticed."""
    events: list[Event] = []
    async with AsyncExitStack() as stack:
        pool = await stack.enter_async_context(Pool(engines))
        run = await stack.enter_async_context(Run(task, pool, CONTROLLED))
        async for event in run:
            events.append(event)
            if isinstance(event, Updated) and event.update.version == 0:
                await server.kill()
            if isinstance(event, EngineDown) and back:
                await server.__aenter__()
    return events


async def test_a_server_that_is_killed_is_a_lost_engine_and_the_run_goes_on(shelf: ChatTask) -> None:
    async with Serving() as one, Serving() as two:
        events = await struck(shelf, [one.engine(), two.engine()], one, back=False)
    assert digests(events) == digests(await played(shelf, local(), CONTROLLED))
    (down,) = of(EngineDown, events)
    assert down.device == one.url
    assert "127.0.0.1" not in down.reason.partition("(")[0]


async def test_a_server_that_comes_back_is_rebuilt(shelf: ChatTask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "POLL_S", 0.01)
    async with Serving() as one:
        events = await struck(shelf, [one.engine()], one, back=True)
        assert len(one.host.engines) == 2
    assert len(of(EngineUp, events)) == 1
    assert digests(events) == digests(await played(shelf, local(), CONTROLLED))


async def test_hundreds_of_requests_are_under_way_at_once(server: Serving, prompt: list[int]) -> None:
    async with server.engine() as engine:
        await engine.start(0, 1.0, Path())
        server.host.last.pause()
        async with engine.seat(Member(0)) as seat:
            asking = [asyncio.create_task(seat.generate(prompt, Sampling(max_tokens=99))) for _ in range(300)]
            await until(lambda: server.host.last.load[0][1] == 300)
            server.host.last.go_on()
            replies = await asyncio.gather(*asking)
    assert {reply.text for reply in replies} == {"take[red]"}
    assert replies[0].prompt_tokens == len(prompt)


async def test_cancelling_aborts_the_request_there(prompt: list[int]) -> None:
    async with Serving(FakeHost(lambda *_: 3600.0)) as server, server.engine() as engine:
        await engine.start(0, 1.0, Path())
        async with engine.seat(Member(0)) as seat:
            asking = asyncio.create_task(seat.generate(prompt, Sampling()))
            await until(lambda: server.host.last.load[0][1] > 0)
            asking.cancel()
            await until(lambda: not server.host.last.load[0][1])
        assert await engine.advance(Update(0, (Term(1, 1.0),)), (), (0, 1))  # the connection lives on


async def test_a_driver_that_leaves_has_what_it_asked_for_given_up(prompt: list[int]) -> None:
    async with Serving(FakeHost(lambda *_: 3600.0)) as server:
        async with server.engine() as engine:
            await engine.start(0, 1.0, Path())
            async with engine.seat(Member(0)) as seat:
                asking = asyncio.create_task(seat.generate(prompt, Sampling()))
                await until(lambda: server.host.last.load[0][1] > 0)
        with pytest.raises(EngineLost, match="it is closed"):
            await asking
        await until(lambda: not server.host.last.load[0][1])


async def test_a_second_driver_is_refused_and_a_third_finds_the_place_free(
    server: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "BUSY_S", 0.0)
    async with server.engine() as first:
        with pytest.raises(EngineUnfit, match=r"serves another driver \(.*, process \d+\); give each run servers"):
            await server.engine().__aenter__()
        assert await first.start(0, 1.0, Path())
    async with server.engine() as third:
        assert await third.start(0, 1.0, Path())


async def test_a_driver_whose_connection_breaks_loses_the_lease(server: Serving) -> None:
    async with server.engine() as first:
        assert first._connection is not None
        await until(lambda: server.holds > 0)
        first._connection._holding.cancel()  # the system closes its connection, as that of a process that is killed
        async with server.engine() as second:
            assert await second.start(0, 1.0, Path())
        with pytest.raises(EngineLost, match="the lease is over"):
            await first.advance(Update(0, ()), (), ())


async def test_an_engine_that_hangs_there_is_lost_here(server: Serving) -> None:
    async with server.engine(engine_seconds=0.2) as engine:
        server.host.last.hang(3600.0)
        starting = asyncio.create_task(engine.start(0, 1.0, Path()))
        assert await engine.lost() == "no answer for 0.2 s (engine_seconds)"
        with pytest.raises(EngineLost, match="no answer for"):
            await starting


async def test_an_engine_that_dies_there_is_lost_here(server: Serving) -> None:
    async with server.engine() as engine:
        server.host.last.kill("out of memory")
        assert "out of memory" in await engine.lost()


@pytest.mark.parametrize(
    ("token", "said"), [("another-token-of-length", "it has another token"), ("", "it wants a token")]
)
async def test_a_token_that_is_wrong_or_missing_is_one_line_with_the_cure(
    server: Serving, token: str, said: str
) -> None:
    with pytest.raises(EngineUnfit, match=f"{said}.*AES_TOKEN or --token-file") as refused:
        await server.engine(token=token).look()
    assert not token or token not in str(refused.value)


async def test_a_server_without_a_token_lets_nobody_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AES_TOKEN", raising=False)
    monkeypatch.delenv("AES_TOKEN_FILE", raising=False)
    async with Serving(token=None) as server:
        with pytest.raises(EngineUnfit, match="has no token, and lets nobody in"):
            await server.engine().look()


async def test_nobody_there(server: Serving) -> None:
    await server.kill()
    with pytest.raises(EngineUnfit, match=r"cannot be reached .*aes engine"):
        await server.engine().look()
    with pytest.raises(EngineUnfit, match="cannot be reached"):
        await server.engine().__aenter__()


async def test_a_server_of_another_kind(server: Serving) -> None:
    engine = server.engine()
    engine._url += "/elsewhere"
    with pytest.raises(EngineUnfit, match="no engine of aes there"):
        await engine.look()


async def test_what_a_server_is_decides_before_anything_starts(server: Serving) -> None:
    server.host.changes["model_digest"] = "other"
    with pytest.raises(EngineUnfit, match="another model"):
        await server.engine().look()
    assert server.host.engines == []


async def test_a_server_that_returns_as_something_else_is_not_taken(
    shelf: ChatTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its run ends with what the user can cure, or goes on elsewhere."""
    monkeypatch.setattr(client, "POLL_S", 0.01)
    async with Serving() as one:
        one.host.changes["dtype"] = "bfloat16"
        one.host.changes.clear()
        engine = one.engine()
        async with engine:
            one.host.changes["model_digest"] = "other"
            await one.kill()
            await engine.lost()
            await engine.__aexit__(None, None, None)
            await one.__aenter__()
            with pytest.raises(EngineError, match="another model"):
                await engine.__aenter__()


async def test_a_basis_made_there_serves_everywhere(server: Serving, tmp_path: Path) -> None:
    observing = Lora(rank=4, targets=("down_proj",), basis="activations")
    basis = tmp_path / "basis.safetensors"
    async with server.engine(observing) as engine:
        assert engine.wants_observation
        await engine.observe(True)
        first = await engine.start(0, 1.0, basis)
    assert {name: tensor.tolist() for name, tensor in load_file(basis).items()} == {
        name: tensor.tolist() for name, tensor in BASIS.items()
    }
    async with Serving() as other, other.engine(observing) as engine:
        assert await engine.start(0, 1.0, basis) == first
        assert not other.host.last.seen


async def test_a_basis_of_another_space_is_refused(server: Serving, tmp_path: Path) -> None:
    from safetensors.torch import save_file

    basis = tmp_path / "basis.safetensors"
    save_file({"model.layers.0.mlp.up_proj": BASIS["model.layers.0.mlp.down_proj"]}, basis)
    async with server.engine(Lora(rank=4, targets=("down_proj",), basis="activations")) as engine:
        with pytest.raises(EngineError, match="not of this adapter space"):
            await engine.start(0, 1.0, basis)
        basis.write_bytes(b"cos\nsystem\n(S'true'\ntR.")
        with pytest.raises(EngineError, match="not safetensors"):
            await engine.start(0, 1.0, basis)


async def test_an_exported_adapter_is_written_here(server: Serving, tmp_path: Path) -> None:
    async with server.engine() as engine:
        await engine.start(0, 1.0, Path())
        await engine.advance(Update(0, (Term(3, 1.0),)), (), ())
        await engine.export(1, tmp_path / "adapter")
    weights = load_file(tmp_path / "adapter" / "adapter_model.safetensors")
    assert {name.rpartition(".")[0][-6:]: tuple(t.shape) for name, t in weights.items()} == {
        "lora_A": (4, 8), "lora_B": (64, 4)
    }  # fmt: skip
    assert f'"base_model_name_or_path": "{MODEL.name}"' in (tmp_path / "adapter" / "adapter_config.json").read_text()


async def test_the_token_is_nowhere(server: Serving, shelf: ChatTask, tmp_path: Path) -> None:
    engine = server.engine()
    await played(shelf, Pool([engine]), config(), tmp_path / "run")
    for file in (tmp_path / "run").rglob("*"):
        assert file.is_dir() or TOKEN.encode() not in file.read_bytes()
    assert TOKEN not in f"{engine!r}{engine.fingerprint}{engine.load}"


def test_the_fake_host_is_honest() -> None:
    assert isinstance(FakeHost().engine(LORA), Elsewhere)
    assert issubclass(Busy, EngineUnfit)
    assert connection.PARTS > 1
