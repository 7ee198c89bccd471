"""Prompts only grow: what was generated is never encoded again, and the room of the context is kept."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest

from aes.engine.fake import TextCodec
from aes.errors import ContextOverflow
from aes.policy import MemberPolicy, turn_seed
from aes.types import Completion, Message, Sampling


class PairCodec(TextCodec):
    """Encodes two letters as one token, so that where a text is cut changes its ids; 0 ends a reply."""

    def encode(self, text: str) -> list[int]:
        return [int.from_bytes(text[i : i + 2].encode()) for i in range(0, len(text), 2)]


class Echo:
    """Answers `ok` letter by letter and remembers what it was asked."""

    def __init__(self, *, cut: bool = False) -> None:
        self.asked: list[tuple[list[int], Sampling]] = []
        self._cut = cut

    async def generate(self, prompt: Sequence[int], sampling: Sampling) -> Completion:
        self.asked.append((list(prompt), sampling))
        ids = (ord("o"), ord("k")) if self._cut else (ord("o"), ord("k"), 0)
        return Completion("ok", ids, len(prompt), "length" if self._cut else "stop")


def user(text: str) -> Message:
    return {"role": "user", "content": text}


REPLY: Message = {"role": "assistant", "content": "ok"}


@pytest.mark.parametrize("cut", [False, True])
async def test_the_next_prompt_continues_the_last_one_id_by_id(cut: bool) -> None:
    seat = Echo(cut=cut)
    policy = MemberPolicy(seat, PairCodec(), 1000, Sampling())
    messages = [user("first")]
    for turn in range(3):
        await policy.complete(messages)
        messages += [REPLY, user(f"more {turn}")]
    prompts = [prompt for prompt, _ in seat.asked]
    for before, after in pairwise(prompts):
        assert after[: len(before) + 2] == [*before, ord("o"), ord("k")]
    assert len(set(map(len, prompts))) == 3


async def test_another_conversation_is_encoded_afresh() -> None:
    seat, codec = Echo(), PairCodec()
    policy = MemberPolicy(seat, codec, 1000, Sampling())
    await policy.complete([user("one")])
    await policy.complete([user("two")])
    assert seat.asked[1][0] == codec.encode(codec.render([user("two")]))


async def test_an_edited_reply_is_encoded_afresh() -> None:
    seat, codec = Echo(), PairCodec()
    policy = MemberPolicy(seat, codec, 1000, Sampling())
    await policy.complete([user("one")])
    edited: list[Message] = [user("one"), {"role": "assistant", "content": "no"}, user("two")]
    await policy.complete(edited)
    assert seat.asked[1][0] == codec.encode(codec.render(edited))


async def test_settings_of_a_call_come_before_those_of_the_run() -> None:
    seat = Echo()
    policy = MemberPolicy(seat, TextCodec(), 1000, Sampling(max_tokens=9, temperature=0.7))
    await policy.complete([user("x")])
    await policy.complete([user("x")], max_tokens=3, temperature=0.0, seed=5, stop=["]"])
    assert [sampling for _, sampling in seat.asked] == [
        Sampling(max_tokens=9, temperature=0.7, seed=turn_seed(0, 0)),
        Sampling(max_tokens=3, temperature=0.0, seed=5, stop=("]",)),
    ]


async def test_a_reply_never_outgrows_the_context() -> None:
    seat = Echo()
    length = len(TextCodec().encode(TextCodec().render([user("12345")])))
    await MemberPolicy(seat, TextCodec(), length + 4, Sampling(max_tokens=64)).complete([user("12345")])
    assert seat.asked[0][1].max_tokens == 4
    with pytest.raises(ContextOverflow, match=f"prompt of {length} tokens, context of {length}"):
        await MemberPolicy(seat, TextCodec(), length, Sampling()).complete([user("12345")])
