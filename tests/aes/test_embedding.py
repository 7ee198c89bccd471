"""A run in somebody's event loop: beside a service, read slowly or not at all, and its best adapter handed over."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from safetensors.torch import load_file

from aes import AgentTask, ChatTask, Run
from aes.engine.fake import FakeEngine
from aes.engine.pool import Pool
from aes.errors import ConfigError, EngineError
from aes.events import Evaluated, Finished, Stream, Updated
from tests.aes.runs import config, digests, of, played, uneven


async def test_beside_a_service_and_cancelled_with_nothing_left(shelf: ChatTask) -> None:
    """A service starts a run on one request and ends it on another; it answers all the while."""
    before, running = asyncio.all_tasks(), set[asyncio.Task[None]]()

    async def train() -> None:
        async with FakeEngine() as engine, Run(shelf, engine, config(updates=100_000)) as run:
            app_state["run"] = run
            await run.wait()

    async def start(request: web.Request) -> web.Response:
        running.add(asyncio.create_task(train()))
        return web.json_response({})

    async def status(request: web.Request) -> web.Response:
        run = app_state.get("run")
        return web.json_response({"version": run.metrics.version if run else 0})

    async def stop(request: web.Request) -> web.Response:
        for task in running:
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*running)
        return web.json_response({})

    app_state: dict[str, Run] = {}
    app = web.Application()
    app.add_routes([web.post("/start", start), web.get("/status", status), web.post("/stop", stop)])
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    async with aiohttp.ClientSession(f"http://127.0.0.1:{runner.addresses[0][1]}") as client:
        await client.post("/start")
        async with asyncio.timeout(20):
            while (await (await client.get("/status")).json())["version"] < 3:
                pass
        await client.post("/stop")
    await runner.cleanup()
    await asyncio.sleep(0)
    assert asyncio.all_tasks() <= before | {asyncio.current_task(), *running}
    assert all(task.done() for task in running)


def test_events_read_slowly_or_not_at_all_delay_nothing(shelf: ChatTask, virtual: Any) -> None:
    async def run(read: bool) -> tuple[float, list[Any], dict[str, Any]]:
        seen: list[Any] = []
        async with FakeEngine(latency=uneven()) as engine, Run(shelf, engine, config(updates=8)) as run:
            run._stream = stream = Stream(limit=20)
            run._bus.subscribe(stream.put)
            if read:
                async for event in run:
                    seen.append(event)
                    await asyncio.sleep(30)
            await run.wait()
            assert stream.forgotten > 0
        return run.summary()["seconds"], seen, {**run.summary(), "seconds": 0}

    seconds, seen, summary = virtual(run(read=True))
    assert (seconds, summary) == (virtual(run(read=False))[0], virtual(run(read=False))[2])
    assert isinstance(seen[-1], Finished)
    assert len(of(Updated, seen)) < 8


def test_the_best_is_exported_while_training_goes_on(shelf: ChatTask, virtual: Any, tmp_path: Path) -> None:
    async def main() -> tuple[list[Any], set[int], float]:
        events, versions = [], set[int]()
        settings = config(updates=8, eval_every=1, eval_goals=20, max_lag=1)
        async with FakeEngine(latency=uneven()) as engine, Run(shelf, engine, settings) as run:
            assert run.best is None or run.best.version == 0
            async for event in run:
                events.append(event)
                if isinstance(event, Updated) and run.best is not None:
                    best = run.best
                    await run.export(best.version, tmp_path / str(best.version))
                    versions.add(best.version)
            with pytest.raises(EngineError, match="no longer held"):
                await run.export(3 if run.best is None or run.best.version != 3 else 2, tmp_path / "gone")
            assert run.best is not None
            return events, versions, run.best.score

    events, versions, score = virtual(main())
    scores = {e.version: sum(e.scores) / len(e.scores) for e in of(Evaluated, events)}
    assert score == pytest.approx(max(scores.values()))
    assert len(versions) > 1
    for version in versions:
        assert load_file(tmp_path / str(version) / "theta.safetensors")["theta"].shape == (256,)


def test_the_best_of_a_resumed_run_is_held_again(shelf: ChatTask, virtual: Any, tmp_path: Path) -> None:
    class Fading(FakeEngine):
        """Learns nothing: the first version stays the best."""

    settings = config(updates=6, eval_every=1, lr=0.0, max_lag=0)

    async def half() -> None:
        async with Fading(latency=uneven()) as engine, Run(shelf, engine, settings, tmp_path / "run") as run:
            async for event in run:
                if isinstance(event, Evaluated) and event.version == 3:
                    return

    async def rest() -> None:
        async with Fading(latency=uneven()) as engine, Run.resume(shelf, engine, tmp_path / "run") as run:
            assert run.best is not None
            assert run.best.version == 0
            await run.export(0, tmp_path / "best")
            await run.wait()
            await run.export(0, tmp_path / "again")

    virtual(half())
    virtual(rest())


async def test_two_runs_with_engines_of_their_own_and_one_fails(shelf: ChatTask) -> None:
    async def broken(policy: Any, goal: Any, seed: int) -> float:
        raise ValueError("no")

    task = AgentTask("broken", broken, range(10), ())
    good, bad = await asyncio.gather(
        played(shelf, FakeEngine(), config(max_lag=2, stale_frac=0.5)),
        played(task, FakeEngine(), config(eval_goals=0)),
        return_exceptions=True,
    )
    assert "ValueError: no" in str(bad)
    assert isinstance(good, list)
    assert digests(good) == digests(await played(shelf, FakeEngine(), config(max_lag=2, stale_frac=0.5)))


@pytest.mark.parametrize("pooled", [False, True])
async def test_a_second_run_on_one_engine_is_refused_and_the_first_goes_on(shelf: ChatTask, pooled: bool) -> None:
    settings = config(max_lag=2, stale_frac=0.5)
    async with FakeEngine() as single:
        engine = Pool([single]) if pooled else single
        async with Run(shelf, engine, settings) as run:
            with pytest.raises(ConfigError, match=r"another run is using it \(aes.engine.shared.Shared"):
                async with Run(shelf, single, settings):
                    pass
            events = [event async for event in run]
        async with Run(shelf, engine, settings) as again:  # one after the other they may
            assert digests([event async for event in again]) == digests(events)
