"""The chat loop: observations in, actions out, one Episode at the end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aes import ChatTask, Completion, Config, Message
from aes.engine.fake import FakeEngine
from aes.failures import checked
from aes.policy import turn_seed
from aes.protocols import Environment, Task
from aes.referee import Referee
from aes.structured import Structured
from aes.types import Member, Tool


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

    base_url = api_key = ""

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
        structured: Structured | None = None,
        tools: Sequence[Tool] = (),
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


# In a thread


async def test_a_threaded_environment_is_made_and_asked_in_one_other_thread() -> None:
    class Bound(Script):
        """Minds in which thread it is used, as a database connection does."""

        def __init__(self) -> None:
            super().__init__([0.25, 0.5])
            self.threads = {threading.get_ident()}

        def step(self, text: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
            self.threads.add(threading.get_ident())
            return super().step(text)

    made: list[Bound] = []

    def make(goal: Any) -> Bound:
        made.append(Bound())
        return made[-1]

    task = ChatTask("bound", make, (0,), (), threaded=True)
    episodes = await asyncio.gather(*(task.play(Parrot(), 0, 7) for _ in range(3)))
    assert episodes == [await task_of(Script([0.25, 0.5])).play(Parrot(), 0, 7)] * 3
    used = [env.threads for env in made]
    assert all(len(threads) == 1 for threads in used)
    assert len(set.union(*used)) == 3
    assert threading.get_ident() not in set.union(*used)


async def test_a_threaded_environment_may_be_waited_for_too() -> None:
    far = Script([0.25, 0.0])
    task = ChatTask("far", lambda goal: Far(far), (0,), (), threaded=True)
    assert (await task.play(Parrot(), 0, 7)).fitness == 0.25


@pytest.mark.parametrize("error", [ValueError("no"), StopIteration(), asyncio.CancelledError(), BaseException("panic")])
async def test_what_a_threaded_environment_raises_arrives(error: BaseException) -> None:
    class Raising(Script):
        def step(self, text: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
            raise error

    with pytest.raises(RuntimeError if isinstance(error, StopIteration) else type(error)):
        await task_of(Raising([]), threaded=True).play(Parrot(), 0, 0)


async def test_the_loop_goes_on_while_a_thread_is_stuck_and_the_time_limit_leaves_it() -> None:
    stuck = threading.Event()

    class Stuck(Script):
        def step(self, text: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
            stuck.wait(20)
            return super().step(text)

    for thread in threading.enumerate():  # of the tests before: on their way out
        if thread.name == "aes environment":
            thread.join(5)
    task, engine, config = task_of(Stuck([0]), threaded=True), FakeEngine(), Config(retries=0, episode_seconds=0.05)
    async with Referee(task, engine, config) as referee, engine.seat(Member(0)) as seat:
        episode = await referee.play(seat, 0, 0)
    assert episode.failure is not None
    assert episode.failure.kind == "timeout"
    (left,) = [thread for thread in threading.enumerate() if thread.name == "aes environment"]
    assert left.daemon
    stuck.set()
    left.join(5)
    assert not left.is_alive()


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
