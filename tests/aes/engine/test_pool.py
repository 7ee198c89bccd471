"""The pool: members to the emptiest engine, updates to all, and one voice when something is wrong."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Self

import pytest

from aes.engine.fake import FakeEngine
from aes.engine.pool import Pool
from aes.errors import ConfigError, DigestMismatch, EngineError, EngineLost
from aes.protocols import Engine
from aes.types import Advanced, Member, Term, Update


class Logged(FakeEngine):
    """Writes down what is done to it; may fail at one thing."""

    def __init__(self, log: list[str], name: str, fails: str = "", slots: int = 2) -> None:
        super().__init__(slots=slots)
        self._log, self._name, self._fails = log, name, fails

    async def _note(self, what: str) -> None:
        self._log.append(f"{self._name} {what}")
        if what == self._fails:
            raise EngineError(f"{self._name} fails to {what}")
        await asyncio.sleep(0.1)

    async def __aenter__(self) -> Self:
        await self._note("open")
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._note("close")

    async def observe(self, on: bool) -> None:
        await self._note(f"observe {on}")

    async def advance(self, update: Update, keep: Collection[int], lags: Collection[int], run: str = "") -> Advanced:
        await self._note("advance")
        return await super().advance(update, keep, lags, run)


def test_members_go_to_the_emptiest_and_stay(virtual: Any) -> None:
    async def main() -> list[Any]:
        engines = [FakeEngine(slots=1), FakeEngine(slots=3)]
        loads = []
        async with Pool(engines) as pool, AsyncExitStack() as stack:
            assert pool.slots == 4
            for seed in range(5):
                await stack.enter_async_context(pool.seat(Member(0, seed, 1, 1.0)))
                loads.append([count for _, count in pool.load])
        assert [count for _, count in pool.load] == [0, 0]
        return loads

    assert virtual(main()) == [[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]]


def test_no_engine_ever_seats_more_than_its_slots_and_one(virtual: Any) -> None:
    """Players fill all slots and the evaluation takes one more; each engine has one place beyond its slots."""

    async def main() -> None:
        for sizes in ([1, 1], [3, 1, 2], [1, 4]):
            engines = [FakeEngine(slots=size) for size in sizes]
            async with Pool(engines) as pool, AsyncExitStack() as stack:
                for seed in range(pool.slots + 1):
                    await stack.enter_async_context(pool.seat(Member(0, seed, 1, 1.0)))
                    assert all(engine.load[0][1] <= engine.slots + 1 for engine in engines)

    virtual(main())


def test_an_update_goes_to_all_engines_at_once_and_they_agree(virtual: Any, tmp_path: Path) -> None:
    async def main() -> float:
        log: list[str] = []
        async with Pool([Logged(log, name) for name in "ab"]) as pool:
            digest, dim = await pool.start(0, 1.0, tmp_path)
            began = asyncio.get_running_loop().time()
            advanced = await pool.advance(Update(0, (Term(3, 0.5),)), {0}, {0})
            took = asyncio.get_running_loop().time() - began
            assert (dim, advanced.moved) == (256, {0: 0.0})
            assert advanced.digest != digest
        assert log == ["a open", "b open", "a advance", "b advance", "b close", "a close"]
        return took

    assert virtual(main()) == pytest.approx(0.1)


def test_engines_that_disagree_are_found_out(virtual: Any, tmp_path: Path) -> None:
    async def main(start: bool) -> None:
        engines = [FakeEngine(), FakeEngine(dim=255 if start else 256)]
        async with Pool(engines) as pool:
            await pool.start(0, 1.0, tmp_path)
            await engines[1].advance(Update(0, (Term(1, 1e-7),)), (), ())
            engines[1]._centres[""].newest = 0
            engines[1]._centres[""]._versions = {0: engines[1]._centres[""].vector(1)}
            await pool.advance(Update(0, (Term(3, 0.5),)), {0}, {0})

    with pytest.raises(DigestMismatch, match="version 0"):
        virtual(main(start=True))
    with pytest.raises(DigestMismatch, match="engines disagree about version 1"):
        virtual(main(start=False))


def test_an_engine_that_does_not_open_closes_those_that_did(virtual: Any) -> None:
    log: list[str] = []
    engines: list[Engine] = [Logged(log, "a"), Logged(log, "b", fails="open"), Logged(log, "c")]

    async def main() -> None:
        async with Pool(engines):
            raise AssertionError

    with pytest.raises(EngineError, match="b fails to open"):
        virtual(main())
    assert log == ["a open", "b open", "a close"]


def test_one_failing_engine_is_raised_bare_and_nothing_is_left_running(virtual: Any, tmp_path: Path) -> None:
    async def main() -> None:
        async with Pool([Logged([], "a"), Logged([], "b", fails="advance")]) as pool:
            await pool.start(0, 1.0, tmp_path)
            await pool.advance(Update(0, ()), (), ())

    with pytest.raises(EngineError, match="b fails to advance"):
        virtual(main())


def test_all_engines_close_even_if_one_fails_to(virtual: Any) -> None:
    log: list[str] = []

    async def main() -> None:
        async with Pool([Logged(log, "a"), Logged(log, "b", fails="close")]):
            pass

    with pytest.raises(EngineError, match="b fails to close"):
        virtual(main())
    assert log[-2:] == ["b close", "a close"]


def test_all_are_observed_on_the_first(virtual: Any) -> None:
    async def main() -> list[str]:
        log: list[str] = []
        async with Pool([Logged(log, "a", slots=1), Logged(log, "b", slots=9)]) as pool:
            await pool.observe(True)
            async with pool.seat(Member(0)), pool.seat(Member(0)):
                assert [count for _, count in pool.load] == [2, 0]
            await pool.observe(False)
            async with pool.seat(Member(0)):
                assert [count for _, count in pool.load] == [0, 1]
        return [entry for entry in log if "observe" in entry]

    assert virtual(main()) == ["a observe True", "a observe False"]


def test_a_pool_needs_an_engine() -> None:
    with pytest.raises(ConfigError, match="no engine"):
        Pool([])


def test_a_pool_says_what_its_engines_are() -> None:
    pool = Pool([FakeEngine(), FakeEngine()])
    assert pool.fingerprint == {**FakeEngine().fingerprint, "engines": "2"}
    assert pool.codec.encode("a") == [97]
    assert pool.context == FakeEngine.context
    assert pool.wants_observation is False


# Seats that must be waited for, and engines that are lost


class Guest:
    """A task that takes a seat and keeps it until told to leave."""

    def __init__(self, pool: Pool, log: list[str], name: str) -> None:
        self._leave = asyncio.Event()
        self._log, self._name = log, name
        self.task = asyncio.create_task(self._sit(pool))

    async def _sit(self, pool: Pool) -> None:
        try:
            async with pool.seat(Member(0)):
                self._log.append(f"{self._name} sits")
                await self._leave.wait()
        except EngineLost as error:
            self._log.append(f"{self._name}: {error}")

    async def leave(self) -> None:
        self._leave.set()
        await asyncio.wait([self.task])


async def settle() -> None:
    """Let everybody do what can be done now."""
    await asyncio.sleep(0.001)


def test_who_finds_all_seats_taken_waits_in_line(virtual: Any) -> None:
    async def main() -> list[str]:
        log: list[str] = []
        async with Pool([FakeEngine(slots=1)]) as pool:
            guests = {name: Guest(pool, log, name) for name in "abcdef"}
            await settle()
            assert log == ["a sits", "b sits"]
            guests["d"].task.cancel()
            await guests["a"].leave()
            await settle()
            guests["b"]._leave.set()
            await asyncio.sleep(0)  # b has left, and e been given its seat ...
            guests["e"].task.cancel()  # ... which it no longer wants
            await settle()
            for name in "cf":
                await guests[name].leave()
            assert pool.load == (("fake", 0),)
            assert pool.devices[0].seated == 0
        return log

    assert virtual(main()) == ["a sits", "b sits", "c sits", "f sits"]


def test_nobody_waits_for_an_engine_that_nobody_opens_again(virtual: Any, tmp_path: Path) -> None:
    async def main() -> list[str]:
        log: list[str] = []
        async with Pool([engine := FakeEngine(slots=0)]) as pool:
            guests = [Guest(pool, log, name) for name in "abc"]
            await settle()
            engine.kill("it burns")
            with pytest.raises(EngineLost):
                await pool.start(0, 1.0, tmp_path)
            await settle()
            assert sorted(log) == ["a sits", "b: engine fake: it burns", "c: engine fake: it burns"]
            log.clear()
            await guests[0].leave()

            async def insist() -> None:
                while True:
                    with contextlib.suppress(EngineLost):
                        await pool.export(0, tmp_path)

            task = asyncio.create_task(insist())
            for _ in range(3):
                await asyncio.sleep(0)  # others have their turns meanwhile
            task.cancel()
            await asyncio.wait([task])
            assert task.cancelled()
        return log

    assert virtual(main()) == []


def test_lost_engines_take_no_members_and_their_work_goes_to_others(virtual: Any, tmp_path: Path) -> None:
    async def main() -> None:
        log: list[str] = []
        engines = [Logged(log, "a"), Logged(log, "b")]
        async with Pool(engines) as pool:
            digest, _ = await pool.start(0, 1.0, tmp_path)
            engines[0].kill()
            advanced = await pool.advance(Update(0, (Term(3, 0.5),)), {0}, {0})
            assert (advanced.digest != digest, advanced.moved) == (True, {0: 0.0})
            assert [device.live for device in pool.devices] == [False, True]
            assert [len(device.missed) for device in pool.devices] == [1, 0]
            async with pool.seat(Member(1)), pool.seat(Member(0)):
                assert [seated for _, seated in pool.load] == [0, 2]
            await pool.export(1, tmp_path / "adapter")
            assert (tmp_path / "adapter" / "theta.safetensors").exists()

    virtual(main())


def test_a_pool_of_one_is_made_around_an_engine_that_is_none() -> None:
    pool = Pool([engine := FakeEngine()])
    assert Pool.around(pool) is pool
    assert Pool.around(engine).devices[0].engine is engine
