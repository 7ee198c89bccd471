"""The simulated engine: one centre for all, members that say what they are worth, time that passes on the device."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from aes.policy import MemberPolicy
from aes.simulation.engine import QUESTION, Driver, SharedCentre, SimulatedEngine
from aes.simulation.loop import run
from aes.simulation.objective import Objective
from aes.simulation.speed import Curve, Speed
from aes.types import Member, Message, Sampling, Term, Update


def engine(centre: SharedCentre, speed: Speed | None = None, driver: float = 0.0) -> SimulatedEngine:
    return SimulatedEngine(centre, speed or Speed(Curve.linear(0.1, 0.0)), Driver(driver), slots=4, sequences=8)


def said(number: object) -> list[Message]:
    return [{"role": "user", "content": str(number)}]


def test_who_is_asked_answers_at_once_and_every_other_reply_takes_its_time() -> None:
    async def main() -> list[float]:
        speed = Speed(Curve.linear(0.1, 0.0), prefill=0.01, build=2.0)
        times = []
        async with (
            engine(SharedCentre(Objective(4)), speed, driver=0.5) as one,
            one.seat(Member(0, 7, -1, 0.1)) as seat,
        ):
            policy = MemberPolicy(seat, one.codec, one.context, Sampling())
            name, worth = (await policy.complete(said(QUESTION), max_tokens=1)).text.split()
            assert name == "s7/-1"
            assert float(worth) == pytest.approx(0.0, abs=0.5)
            times.append(asyncio.get_running_loop().time())
            for _ in range(2):  # the second reads its prompt anew, though it is the same
                await policy.complete(said(100), max_tokens=10)
                times.append(asyncio.get_running_loop().time())
        assert one.seated_seconds == times[-1]
        return times

    assert run(main()) == pytest.approx([2.0, 4.5, 7.0])


def test_engines_share_a_centre_that_is_updated_once() -> None:
    async def main() -> None:
        centre = SharedCentre(Objective(4))
        async with engine(centre) as one, engine(centre) as other:
            begun = [await each.start(0, 0.1, Path()) for each in (one, other)]
            before = centre.worth()
            update = Update(0, (Term(5, 0.1),))
            advanced = [await each.advance(update, (), (0,)) for each in (one, other)]
            assert begun[0] == begun[1]
            assert advanced[0] == advanced[1]
            assert advanced[0].digest != begun[0][0]
            assert centre.worth() != before
            assert await one.start(0, 0.1, Path()) == begun[0]
            assert centre.worth() == before

    run(main())


def test_the_driver_serves_one_reply_after_the_other() -> None:
    async def main() -> float:
        driver = Driver(0.25)
        await asyncio.gather(*(driver.handle() for _ in range(4)))
        await asyncio.sleep(1)
        await driver.handle()
        assert driver.busy == 1.25
        return asyncio.get_running_loop().time()

    assert run(main()) == pytest.approx(2.25)
