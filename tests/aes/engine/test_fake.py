"""The fake engine: deterministic, honest about its tokens, and able to read what users write."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file

from aes import Completion, Message
from aes.engine.fake import FakeEngine, TextCodec
from aes.errors import EngineError, EngineLost
from aes.policy import MemberPolicy
from aes.protocols import Engine
from aes.types import Member, Sampling, Term, Update


def user(text: str) -> Message:
    return {"role": "user", "content": text}


async def ask(engine: FakeEngine, member: Member, *messages: Message, **sampling: Any) -> Completion:
    async with engine.seat(member) as seat:
        prompt = engine.codec.encode(engine.codec.render(messages))
        return await seat.generate(prompt, Sampling(**sampling))


async def replies(engine: FakeEngine, members: Sequence[Member], text: str) -> list[str]:
    return [(await ask(engine, member, user(text))).text for member in members]


MEMBERS = [Member(0, seed, sign, 1.0) for seed in range(12) for sign in (1, -1)]
OFFER = "red please\ntake[red] take[blue] take[green]"


@given(st.text())
def test_text_goes_through_the_codec_unharmed(text: str) -> None:
    text = text.replace("\0", "").encode(errors="ignore").decode()
    assert TextCodec().decode([*TextCodec().encode(text), 0]) == text


async def test_the_base_takes_the_first_and_members_differ() -> None:
    engine = FakeEngine()
    assert (await ask(engine, Member(0), user(OFFER))).text == "take[red]"
    assert set(await replies(engine, MEMBERS, OFFER)) == {"take[red]", "take[blue]", "take[green]"}


async def test_a_member_answers_the_same_again_and_on_another_engine() -> None:
    one, other = FakeEngine(), FakeEngine()
    assert await replies(one, MEMBERS, OFFER) == await replies(other, MEMBERS, OFFER)


async def test_where_nothing_is_offered_it_says_what_it_may() -> None:
    engine = FakeEngine(replies=("north", "south"))
    assert set(await replies(engine, MEMBERS, "where to?")) == {"north", "south"}


async def test_an_open_argument_is_filled_with_the_goal() -> None:
    reply = await ask(FakeEngine(), Member(0), user("red shoes, cheap\nsearch[<words>]"))
    assert reply.text == "search[red shoes cheap]"


async def test_tokens_and_text_agree() -> None:
    engine = FakeEngine(replies=("größer",))
    whole = await ask(engine, Member(0), user("?"))
    assert (whole.text, whole.finish_reason, whole.token_ids[-1]) == ("größer", "stop", 0)
    cut = await ask(engine, Member(0), user("?"), max_tokens=3)
    assert (len(cut.token_ids), cut.finish_reason) == (3, "length")
    assert cut.text == engine.codec.decode(cut.token_ids)


async def test_a_reply_cut_within_a_letter_can_be_continued() -> None:
    engine = FakeEngine(replies=("größer",))
    async with engine.seat(Member(0)) as seat:
        policy = MemberPolicy(seat, engine.codec, engine.context, Sampling(max_tokens=3))
        first = await policy.complete([user("?")])
        messages: list[Message] = [user("?"), {"role": "assistant", "content": first.text}, user("go on")]
        second = await policy.complete(messages)
    assert second.token_ids == first.token_ids


async def test_seats_are_counted_and_given_back() -> None:
    engine = FakeEngine()
    async with engine.seat(Member(0)), engine.seat(Member(0, 1, 1, 0.5)):
        assert engine.load == (("fake", 2),)
    with pytest.raises(EngineError, match="version 9 is no longer held"):
        await ask(engine, Member(9), user("?"))
    assert engine.load == (("fake", 0),)


def test_latency_is_told_the_member_and_the_length(virtual: Any) -> None:
    async def main() -> float:
        engine = FakeEngine(latency=lambda member, length: 10 * member.seed + length)
        prompt = engine.codec.encode(engine.codec.render([user("?")]))
        await ask(engine, Member(0, 2, 1, 1.0), user("?"))
        return asyncio.get_running_loop().time() - len(prompt)

    assert virtual(main()) == 20


async def test_start_begins_anew_and_export_writes_theta(tmp_path: Path) -> None:
    engine = FakeEngine(dim=8)
    first = await engine.start(0, 1.0, tmp_path)
    moved = await engine.advance(Update(0, (Term(1, 0.5),)), {0}, {0})
    await engine.export(1, tmp_path / "v1")
    assert load_file(tmp_path / "v1" / "theta.safetensors")["theta"].shape == (8,)
    assert moved.digest != first[0]
    assert await engine.start(0, 1.0, tmp_path) == first


async def test_it_fits_the_seam() -> None:
    engine: Engine = FakeEngine()
    async with engine as entered:
        assert entered is engine
        assert engine.wants_observation is False


# Dying and hanging


def test_a_death_is_told_to_whoever_waits_and_whoever_asks_later(virtual: Any, tmp_path: Path) -> None:
    async def main() -> None:
        engine = FakeEngine(latency=lambda *_: 10.0)
        async with engine.seat(Member(0)) as seat:
            waiting = asyncio.create_task(seat.generate([1], Sampling()))
            watching = asyncio.create_task(engine.lost())
            await asyncio.sleep(1)
            engine.kill("it burns")
            with pytest.raises(EngineLost, match="engine fake: it burns"):
                await waiting
            assert await watching == await engine.lost() == "it burns"
            assert asyncio.get_running_loop().time() == 1
            for asked in (seat.generate([1], Sampling()), engine.start(0, 1.0, tmp_path), engine.observe(True)):
                with pytest.raises(EngineLost):
                    await asked
            with pytest.raises(EngineLost):
                await engine.seat(Member(0)).__aenter__()
            async with engine:  # opened again it serves, but not who sat there before
                with pytest.raises(EngineLost):
                    await seat.generate([1], Sampling())
                assert (await ask(engine, Member(0), user(OFFER))).text == "take[red]"
        assert engine.load == (("fake", 0),)

    virtual(main())


def test_a_new_life_knows_nothing_of_the_old_one(virtual: Any, tmp_path: Path) -> None:
    async def main() -> None:
        engine = FakeEngine()
        await engine.start(0, 1.0, tmp_path)
        await engine.advance(Update(0, (Term(1, 0.5),)), (), ())
        engine.kill()
        async with engine:
            with pytest.raises(EngineError, match="version 1 is no longer held"):
                await ask(engine, Member(1), user("?"))

    virtual(main())


def test_who_hangs_answers_nothing_and_counts_as_dead_in_time(virtual: Any) -> None:
    async def main() -> float:
        engine = FakeEngine(latency=lambda *_: 2.0)
        async with engine.seat(Member(0)) as seat:
            before = asyncio.create_task(seat.generate([1], Sampling()))
            await asyncio.sleep(1)
            engine.hang(noticed_after=5.0)
            await asyncio.sleep(2)
            assert not before.done()
            for asked in (engine.advance(Update(0, ()), (), ()), before):
                with pytest.raises(EngineLost, match="no answer for 5 s"):
                    await asked
        return asyncio.get_running_loop().time()

    assert virtual(main()) == 6


def test_a_cancelled_request_is_cancelled_even_as_its_engine_dies(virtual: Any) -> None:
    async def main() -> bool:
        engine = FakeEngine(latency=lambda *_: 10.0)
        async with engine.seat(Member(0)) as seat:
            waiting = asyncio.create_task(seat.generate([1], Sampling()))
            await asyncio.sleep(1)
            engine.kill()
            waiting.cancel()
            await asyncio.wait([waiting])
        return waiting.cancelled()

    assert virtual(main())
