"""The chat loop: observations in, actions out, one Episode at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aes import ChatTask, Completion, Message
from aes.chat import turn_seed
from aes.failures import checked
from aes.protocols import Environment, Task


class Script:
    """Rewards of a list, then the end; keeps what it was told."""

    def __init__(self, rewards: Sequence[Any], info: dict[str, Any] | None = None) -> None:
        self.rewards = list(rewards)
        self.info = info or {}
        self.told: list[str] = []
        self.seed: int | None = None

    def reset(self, *, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        self.seed = seed
        return "start", {}

    def step(self, text: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.told.append(text)
        reward = self.rewards.pop(0)
        return f"after {len(self.told)}", reward, not self.rewards, False, self.info


class Parrot:
    """A policy that answers with the number of messages it saw."""

    def __init__(self) -> None:
        self.seeds: list[int | None] = []
        self.seen: list[list[Message]] = []

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        seed: int | None = None,
        stop: Sequence[str] = (),
    ) -> Completion:
        self.seeds.append(seed)
        self.seen.append(list(messages))
        return Completion(str(len(messages)), (1, 2, 0), 10, "stop")


def task_of(env: Environment, **changes: Any) -> ChatTask:
    return ChatTask("script", lambda goal: env, (0,), (), **changes)


async def test_an_episode_is_a_conversation_with_its_sums() -> None:
    env, policy = Script([0.25, 0.0, 0.5], {"clicks": 3, "name": "x", "success": False}), Parrot()
    episode = await task_of(env, system="be brief").play(policy, 0, 7)
    assert env.seed == 7
    assert env.told == ["2", "4", "6"]
    assert [m["role"] for m in episode.transcript] == ["system"] + ["user", "assistant"] * 3
    assert [m["content"] for m in episode.transcript[1::2]] == ["start", "after 1", "after 2"]
    assert (episode.fitness, episode.success, episode.turns, episode.tokens) == (0.75, False, 3, 9)
    assert episode.info == {"clicks": 3.0, "success": 0.0}


class Far:
    """A script over a network: every answer is waited for, some of them for ever."""

    def __init__(self, script: Script, stuck: bool = False) -> None:
        self.script = script
        self.stuck = stuck
        self.reached = asyncio.Event()

    async def reset(self, *, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        await asyncio.sleep(0)
        return self.script.reset(seed=seed)

    async def step(self, text: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.reached.set()
        await (asyncio.Event().wait() if self.stuck else asyncio.sleep(0))
        return self.script.step(text)


async def test_an_environment_may_be_waited_for() -> None:
    near, far = (Script([0.25, 0.0, 0.5], {"clicks": 3, "success": False}) for _ in range(2))
    waited = await ChatTask("far", lambda goal: Far(far), (0,), ()).play(Parrot(), 0, 7)
    assert waited == await task_of(near).play(Parrot(), 0, 7)
    assert (far.seed, far.told) == (near.seed, near.told)


async def test_cancelling_an_episode_ends_the_wait() -> None:
    env = Far(Script([0]), stuck=True)
    playing = asyncio.create_task(ChatTask("stuck", lambda goal: env, (0,), ()).play(Parrot(), 0, 0))
    await env.reached.wait()
    playing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await playing
    assert env.script.told == []


async def test_messages_are_only_added_from_turn_to_turn() -> None:
    policy = Parrot()
    await task_of(Script([0, 0, 0])).play(policy, 0, 0)
    for before, after in pairwise(policy.seen):
        assert after[: len(before)] == before


@pytest.mark.parametrize(
    ("rewards", "info", "success"),
    [([1.0], {}, True), ([0.5, 0.5], {}, True), ([0.9], {}, False), ([0.1], {"success": True}, True)],
)
async def test_success_is_what_the_environment_says_or_full_reward(
    rewards: list[float], info: dict[str, Any], success: bool
) -> None:
    assert (await task_of(Script(rewards, info)).play(Parrot(), 0, 0)).success is success


async def test_turns_are_limited() -> None:
    env = Script([0.1] * 99)
    episode = await task_of(env, max_turns=4).play(Parrot(), 0, 0)
    assert (episode.turns, len(env.told)) == (4, 4)


async def test_rewards_of_numpy_become_plain_numbers() -> None:
    env = Script([np.float32(0.5), np.float32(0.25)], {"price": np.float32(2.5), "count": np.int64(3)})
    episode = checked(await task_of(env).play(Parrot(), 0, 0))
    assert type(episode.fitness) is float
    assert episode.fitness == 0.75
    assert episode.info == {"price": 2.5, "count": 3.0}


def test_a_chat_task_is_a_task(shelf: ChatTask) -> None:
    assert isinstance(shelf, Task)
    assert isinstance(Script([0]), Environment)


@given(seed=st.integers(0, 2**31 - 1), turn=st.integers(0, 100))
def test_turn_seeds_belong_to_goal_and_turn(seed: int, turn: int) -> None:
    assert 0 <= turn_seed(seed, turn) < 2**31
    assert len({turn_seed(seed, t) for t in range(turn, turn + 50)}) == 50


async def test_each_turn_draws_with_its_own_seed() -> None:
    one, other = Parrot(), Parrot()
    for policy in (one, other):
        await task_of(Script([0, 0, 0])).play(policy, 0, 11)
    assert one.seeds == other.seeds
    assert len(set(one.seeds)) == 3
