"""Leases and calls at the desk, in virtual time; and what is thrown at it."""

from __future__ import annotations

import asyncio
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from aes.engine.remote import wire
from aes.engine.remote.desk import Desk, Taken
from aes.errors import AesError, EngineError, EngineLost, EngineUnfit
from aes.types import Member, Sampling, Term, Update
from tests.aes.conftest import Virtual
from tests.aes.engine.remote.serving import LORA, FakeHost

R = TypeVar("R", bound=wire.Record)

OPEN = wire.Open(driver="a test", lora=LORA)
GENERATE = wire.Generate(member=Member(0), prompt=(1,), sampling=Sampling())
START = wire.Start(seed=0, sigma=1.0)


async def call(desk: Desk, name: str, lease: str, record: wire.Record, answer: type[R]) -> R:
    data = await desk.answer("POST", name, lease, record.model_dump_json().encode())
    return answer.model_validate_json(data)


async def opened(desk: Desk) -> str:
    return (await call(desk, "open", "", OPEN, wire.Opened)).lease


async def hold(desk: Desk, lease: str, seconds: float = wire.HOLD_S) -> None:
    await call(desk, "hold", lease, wire.Hold(seconds=seconds), wire.Done)


def test_a_lease_lasts_as_long_as_its_driver_is_heard(virtual: Virtual) -> None:
    async def main() -> None:
        desk = Desk(FakeHost())
        lease = await opened(desk)
        for _ in range(10):
            await hold(desk, lease)
            await asyncio.sleep(wire.LEASE_S - 1)
            with pytest.raises(Taken, match=r"another driver \(a test\)"):
                await opened(desk)
        await asyncio.sleep(2)
        assert await opened(desk) != lease
        with pytest.raises(EngineLost, match="the lease is over"):
            await hold(desk, lease)

    virtual(main())


def test_a_hold_takes_as_long_as_it_was_asked_to(virtual: Virtual) -> None:
    async def main() -> None:
        desk, loop = Desk(FakeHost()), asyncio.get_running_loop()
        await hold(desk, await opened(desk), 7.0)
        assert loop.time() == 7.0

    virtual(main())


def test_a_broken_hold_ends_the_lease_and_what_runs_under_it(virtual: Virtual) -> None:
    async def main() -> None:
        host = FakeHost(lambda *_: 3600.0)
        desk = Desk(host)
        lease = await opened(desk)
        await call(desk, "start", lease, START, wire.Started)
        asking = asyncio.create_task(call(desk, "generate", lease, GENERATE, wire.Generated))
        holding = asyncio.create_task(hold(desk, lease))
        await asyncio.sleep(1)
        assert host.last.load[0][1] == 1
        holding.cancel()
        with pytest.raises(EngineLost, match="the connection to its driver broke"):
            await asking
        assert holding.cancelled()
        assert host.last.load[0][1] == 0
        await opened(desk)

    virtual(main())


def test_a_driver_hears_at_once_that_the_engine_died(virtual: Virtual) -> None:
    async def main() -> None:
        host = FakeHost()
        desk = Desk(host)
        holding = asyncio.create_task(hold(desk, await opened(desk)))
        await asyncio.sleep(1)
        host.last.kill("no memory")
        with pytest.raises(EngineLost, match="no memory"):
            await holding
        assert asyncio.get_running_loop().time() == 1
        await opened(desk)

    virtual(main())


def test_drivers_that_come_at_once_get_one_lease(virtual: Virtual) -> None:
    async def main() -> None:
        desk = Desk(FakeHost())
        found = await asyncio.gather(*(opened(desk) for _ in range(5)), return_exceptions=True)
        assert [type(one) for one in found] == [str, *[Taken] * 4]

    virtual(main())


async def test_a_version_that_is_not_held_never_reaches_the_engine() -> None:
    desk = Desk(FakeHost())
    lease = await opened(desk)
    with pytest.raises(EngineError, match=r"version 0 is not held \(held: \[\]\)"):
        await call(desk, "generate", lease, GENERATE, wire.Generated)
    await call(desk, "start", lease, START, wire.Started)
    for version, keep in ((0, (0,)), (1, ())):
        update = wire.Advance(update=Update(version, (Term(1, 1.0),)), keep=keep, lags=())
        await call(desk, "advance", lease, update, wire.Moved)
    with pytest.raises(EngineError, match=r"held: \[2\]"):
        await call(desk, "generate", lease, GENERATE, wire.Generated)


async def test_a_server_that_was_started_wrongly_takes_no_driver() -> None:
    with pytest.raises(EngineUnfit, match="no room"):
        await opened(Desk(FakeHost(problem="it has no room")))


async def test_a_stranger_to_the_lease_may_do_nothing() -> None:
    desk = Desk(FakeHost())
    lease = await opened(desk)
    for name in ("hold", "close", "generate", "observe", "start", "advance", "export", "basis", "nothing"):
        with pytest.raises(EngineLost, match="the lease is over"):
            await desk.answer("POST", name, lease[:-1] + "x", b"{}")
    await hold(desk, lease, 0.01)


@given(
    st.sampled_from(["open", "close", "generate", "observe", "start", "advance", "export", "basis", "../../x", ""]),
    st.sampled_from(["POST", "PUT", "GET"]),
    st.binary(max_size=99) | st.sampled_from([b"{}", b"[]", b"null", b'{"lora":{}}', b'{"driver":1}', b"[" * 9999]),
)
def test_whatever_is_sent_is_answered_or_refused(name: str, method: str, body: bytes) -> None:
    async def main() -> None:
        desk = Desk(FakeHost())
        lease = await opened(desk)
        try:
            await desk.answer(method, name, lease, body)
        except (AesError, ValidationError, LookupError):
            pass
        else:
            assert name in ("close", "basis")

    asyncio.run(main())
