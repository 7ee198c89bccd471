"""Several runs on one engine: each learns as if alone, slots are shared, and no run touches another's centre."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from aes import Run
from aes.engine.fake import FakeEngine
from aes.engine.pool import Pool
from aes.engine.shared import Shared
from aes.errors import EngineError, EngineLost
from aes.events import EngineDown, EngineUp, Event
from aes.types import Member
from tests.aes.engine.mortal import Mortal, Observant
from tests.aes.runs import config, digests, of, played, uneven

CONTROLLED = {"max_lag": 2, "stale_frac": 0.5}


async def alone(shelf: Any, seed: int, folder: Path | None = None) -> list[str]:
    return digests(await played(shelf, FakeEngine(slots=4, latency=uneven()), config(seed=seed, **CONTROLLED), folder))


async def events_of(run: Run) -> list[Event]:
    return [event async for event in run]


def test_two_runs_at_once_learn_what_each_learns_alone(shelf: Any, virtual: Any) -> None:
    async def both() -> list[list[str]]:
        async with Shared(FakeEngine(slots=4, latency=uneven())) as engine, AsyncExitStack() as stack:
            runs = []
            for seed in (1, 2):
                part = await stack.enter_async_context(engine.part())
                runs.append(await stack.enter_async_context(Run(shelf, part, config(seed=seed, **CONTROLLED))))
            return [digests(events) for events in await asyncio.gather(*map(events_of, runs))]

    assert virtual(both()) == [virtual(alone(shelf, 1)), virtual(alone(shelf, 2))]


def test_one_is_cancelled_and_the_other_goes_on(shelf: Any, virtual: Any) -> None:
    async def both() -> list[str]:
        async with Shared(FakeEngine(slots=4, latency=uneven())) as engine:

            async def endless() -> None:
                async with engine.part() as part, Run(shelf, part, config(updates=10_000)) as run:
                    await run.wait()

            other = asyncio.create_task(endless())
            async with engine.part() as part, Run(shelf, part, config(seed=1, **CONTROLLED)) as run:
                events = aiter(run)
                seen = [await anext(events) for _ in range(40)]
                other.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await other
                assert sum(engine._inside.values()) <= run.players + 1
                return digests([*seen, *[event async for event in events]])

    assert virtual(both()) == virtual(alone(shelf, 1))


def test_members_wait_in_line_for_the_engine_s_slots(virtual: Any) -> None:
    async def main() -> list[tuple[int, float]]:
        sat = []
        async with Shared(FakeEngine(slots=1)) as engine, engine.part() as one, engine.part() as other:
            for part in (one, other):
                await part.start(0, 1.0, Path())

            async def sit(number: int) -> None:
                async with (one, other)[number % 2].seat(Member(0)):
                    sat.append((number, asyncio.get_running_loop().time()))
                    assert sum(seated for part in (one, other) for _, seated in part.load) <= 2
                    await asyncio.sleep(1)

            await asyncio.gather(*map(sit, range(6)))
        return sat

    assert virtual(main()) == [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2), (5, 2)]


async def test_a_part_drops_its_centre_when_it_is_left_and_only_that() -> None:
    engine = FakeEngine()
    async with Shared(engine) as shared, shared.part() as stays:
        await stays.start(0, 1.0, Path())
        async with shared.part() as leaves:
            await leaves.start(0, 1.0, Path())
            await leaves.start(1, 1.0, Path())
            assert len(engine._centres) == 3
        assert len(engine._centres) == 2
        with pytest.raises(EngineError, match="not entered"):
            async with leaves.seat(Member(0)):
                pass
        async with stays.seat(Member(0)):
            pass


def test_a_lost_engine_is_opened_once_and_both_runs_go_on(shelf: Any, virtual: Any, tmp_path: Path) -> None:
    async def both() -> tuple[list[list[str]], int]:
        mortal = Mortal(slots=4)
        async with Shared(mortal) as engine, AsyncExitStack() as stack:
            runs = []
            for seed in (1, 2):
                part = await stack.enter_async_context(engine.part())
                settings = config(seed=seed, **CONTROLLED)
                runs.append(await stack.enter_async_context(Run(shelf, part, settings, tmp_path / f"shared-{seed}")))
            gathered = asyncio.gather(*map(events_of, runs))
            await asyncio.sleep(20)
            mortal.kill()
            told = await gathered
            for events in told:
                assert len(of(EngineDown, events)) == len(of(EngineUp, events)) == 1
            return [digests(events) for events in told], engine._lives

    together, lives = virtual(both())
    assert lives == 2
    assert together == [virtual(alone(shelf, seed)) for seed in (1, 2)]


def test_what_is_asked_of_an_earlier_life_is_lost(virtual: Any) -> None:
    async def main() -> None:
        engine = FakeEngine()
        async with Shared(engine) as shared, shared.part() as one, shared.part() as other:
            engine.kill()
            assert "killed" in await one.lost()
            await one.__aexit__()
            await one.__aenter__()
            assert await other.lost() == "it has been opened again"
            with pytest.raises(EngineLost, match="opened again"):
                await other.start(0, 1.0, Path())
            await other.__aexit__()
            await other.__aenter__()
            await other.start(0, 1.0, Path())

    virtual(main())


def test_inputs_are_observed_with_nobody_else_inside(virtual: Any, tmp_path: Path) -> None:
    async def main() -> list[str]:
        order = []
        async with Shared(Observant(slots=2)) as shared, shared.part() as watches, shared.part() as plays:
            (tmp_path / "basis").write_text("basis")
            await plays.start(0, 1.0, tmp_path / "basis")

            async def play(name: str) -> None:
                async with plays.seat(Member(0)):
                    order.append(name)
                    await asyncio.sleep(1)

            async def watch() -> None:
                await watches.observe(True)
                order.append("watching")
                async with watches.seat(Member(0)):
                    await asyncio.sleep(5)
                order.append("watched")
                await watches.observe(False)

            async with asyncio.TaskGroup() as group:
                group.create_task(play("before"))
                await asyncio.sleep(0.5)
                group.create_task(watch())
                await asyncio.sleep(0.1)
                group.create_task(play("after"))
        return order

    assert virtual(main()) == ["before", "watching", "watched", "after"]


def test_a_part_that_is_left_while_it_observes_lets_the_others_in(virtual: Any, tmp_path: Path) -> None:
    async def main() -> None:
        engine = Observant(slots=2)
        async with Shared(engine) as shared, shared.part() as plays:
            async with shared.part() as watches:
                await watches.observe(True)
            (tmp_path / "basis").write_text("basis")
            await plays.start(0, 1.0, tmp_path / "basis")
            async with plays.seat(Member(0)):
                pass

    virtual(main())


def test_pools_of_parts(shelf: Any, virtual: Any) -> None:
    async def both() -> list[list[str]]:
        async with AsyncExitStack() as stack:
            engines = [Shared(FakeEngine(slots=2, latency=uneven(salt))) for salt in (1, 2)]
            for engine in engines:
                await stack.enter_async_context(engine)
            runs = []
            for seed in (1, 2):
                pool = await stack.enter_async_context(Pool([engine.part() for engine in engines]))
                runs.append(await stack.enter_async_context(Run(shelf, pool, config(seed=seed, **CONTROLLED))))
            return [digests(events) for events in await asyncio.gather(*map(events_of, runs))]

    assert virtual(both()) == [virtual(alone(shelf, 1)), virtual(alone(shelf, 2))]
