"""Prompts only grow: what was generated is never encoded again, and the room of the context is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import pairwise

import pytest

from aes.engine.fake import TextCodec
from aes.errors import ContextOverflow, EngineError
from aes.policy import MemberPolicy, turn_seed
from aes.structured import Choice
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


# Several conversations


class Spelling(Echo):
    """Answers each prompt with its number, letter by letter, in the order in which it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.gates: list[asyncio.Event] = []

    async def generate(self, prompt: Sequence[int], sampling: Sampling) -> Completion:
        self.asked.append((list(prompt), sampling))
        number, gate = f"no {len(self.asked)}", asyncio.Event()
        self.gates.append(gate)
        await gate.wait()
        return Completion(number, (*map(ord, number), 0), len(prompt), "stop")


def assistant(text: str) -> Message:
    return {"role": "assistant", "content": text}


async def said(policy: MemberPolicy, seat: Spelling, messages: Sequence[Message]) -> Completion:
    asking = asyncio.create_task(policy.complete(messages))
    await asyncio.sleep(0)
    seat.gates[-1].set()
    return await asking


async def test_branches_of_a_conversation_each_continue_what_was_said_in_them() -> None:
    seat = Spelling()
    policy = MemberPolicy(seat, PairCodec(), 1000, Sampling())
    root = [user("first")]
    both = [asyncio.create_task(policy.complete(root)) for _ in range(2)]
    await asyncio.sleep(0)
    for gate in reversed(seat.gates):  # the later one is answered first
        gate.set()
    replies = [reply.text for reply in await asyncio.gather(*both)]
    assert replies == ["no 1", "no 2"]
    for reply in (*replies, replies[0]):
        await said(policy, seat, [*root, assistant(reply), user(f"more of {reply}")])
    prompts = [prompt for prompt, _ in seat.asked]
    for reply, prompt in zip((*replies, replies[0]), prompts[2:], strict=True):
        assert prompt[: len(prompts[0]) + 4] == [*prompts[0], *map(ord, reply)]
    assert prompts[2] == prompts[4] != prompts[3]


async def test_of_two_known_beginnings_the_longer_one_is_kept() -> None:
    seat, codec = Spelling(), PairCodec()
    policy = MemberPolicy(seat, codec, 1000, Sampling())
    messages = [user("first")]
    for _ in range(3):
        reply = await said(policy, seat, messages)
        messages += [assistant(reply.text), user("on")]
    await said(policy, seat, messages)
    for before, after in pairwise(prompt for prompt, _ in seat.asked):
        assert after[: len(before)] == before


async def test_a_conversation_that_only_grows_is_kept_once() -> None:
    seat = Spelling()
    policy = MemberPolicy(seat, PairCodec(), 1000, Sampling())
    messages = [user("first")]
    for _ in range(12):
        messages += [assistant((await said(policy, seat, messages)).text), user("on")]
    (talk,) = policy._talks._last
    assert len(talk.marks) == 24
    root = messages[:1]
    await said(policy, seat, [*root, assistant("no 1"), user("another way")])  # a branch off its very beginning
    first, branch = seat.asked[0][0], seat.asked[-1][0]
    assert branch[: len(first) + 4] == [*first, *map(ord, "no 1")]
    assert len(policy._talks._last) == 2


async def test_only_the_last_few_conversations_are_known_and_the_others_are_right_all_the_same() -> None:
    seat, codec = Spelling(), PairCodec()
    policy = MemberPolicy(seat, codec, 1000, Sampling())
    roots = [[user(f"talk {number}")] for number in range(12)]
    replies = [(await said(policy, seat, root)).text for root in roots]
    for root, reply in zip(roots, replies, strict=True):
        await said(policy, seat, [*root, assistant(reply), user("on")])
    for number, (root, reply) in enumerate(zip(roots, replies, strict=True)):
        text = codec.render([*root, assistant(reply), user("on")])
        kept = codec.encode(codec.render(root)) + [ord(letter) for letter in reply]
        kept += codec.encode(text[len(codec.render(root) + reply) :])
        assert seat.asked[12 + number][0] in (kept, codec.encode(text))
    assert len(policy._talks._last) == 8


async def test_seeds_are_the_episode_s_where_none_is_given_and_turns_and_tokens_are_counted() -> None:
    seat = Echo()
    policy = MemberPolicy(seat, TextCodec(), 1000, Sampling(temperature=1.0), seed=7)
    for _ in range(2):
        await policy.complete([user("x")])
    await policy.complete([user("x")], seed=3, structured=Choice(("ok",)))
    assert [sampling.seed for _, sampling in seat.asked] == [turn_seed(7, 0), turn_seed(7, 1), 3]
    assert seat.asked[2][1].structured == Choice(("ok",))
    assert (policy.turns, policy.tokens) == (3, 9)


async def test_outside_of_a_run_there_is_no_endpoint() -> None:
    with pytest.raises(EngineError, match="no endpoint outside of a run"):
        _ = MemberPolicy(Echo(), TextCodec(), 1000, Sampling()).base_url
