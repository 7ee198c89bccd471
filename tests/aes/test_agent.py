"""An agent of one's own: numbers and Episodes, coroutines and functions that block, and what is neither."""

from __future__ import annotations

import threading
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from aes import AgentTask, Config, Episode
from aes.engine.fake import FakeEngine
from aes.protocols import Task
from aes.referee import Referee
from aes.types import Member

HELLO: Any = [{"role": "user", "content": "say[hello]"}]


async def played(play: Any, seed: int = 0) -> Episode:
    engine = FakeEngine()
    referee = Referee(AgentTask("agent", play, (0,), ()), engine, Config(retries=0))
    async with referee, engine.seat(Member(0)) as seat:
        return await referee.play(seat, 0, seed)


@pytest.mark.parametrize(
    ("returned", "fitness", "success"),
    [
        (0.5, 0.5, False),
        (1, 1.0, True),
        (True, 1.0, True),
        (np.float32(0.25), 0.25, False),
        (Fraction(3, 2), 1.5, True),
    ],
)
async def test_a_number_is_the_fitness_and_the_policy_counts(returned: Any, fitness: float, success: bool) -> None:
    async def play(policy: Any, goal: Any, seed: int) -> Any:
        for _ in range(2):
            await policy.complete(HELLO)
        return returned

    assert await played(play) == Episode(fitness, success, turns=2, tokens=2 * len("say[hello]\0"))


async def test_an_episode_says_more_and_its_own_counts_come_first() -> None:
    async def play(policy: Any, goal: Any, seed: int) -> Episode:
        await policy.complete(HELLO)
        return Episode(0.5, True, turns=9, info={"steps": 3.0})

    assert await played(play) == Episode(0.5, True, turns=9, tokens=11, info={"steps": 3.0})


async def test_a_function_that_blocks_runs_in_a_thread_of_its_own() -> None:
    seen = []

    def play(policy: Any, goal: Any, seed: int) -> float:
        seen.append((threading.current_thread().name, policy.base_url, seed))
        return 1.0

    assert (await played(play, seed=7)).fitness == 1.0
    ((thread, url, seed),) = seen
    assert (thread, seed) == ("aes environment", 7)
    assert url.startswith("http://127.0.0.1:")


async def test_coroutine_functions_of_any_make_run_in_the_loop() -> None:
    class Agent:
        async def __call__(self, policy: Any, goal: Any, seed: int) -> float:
            return float(threading.current_thread() is threading.main_thread())

    async def play(share: float, policy: Any, goal: Any, seed: int) -> float:
        return share * (threading.current_thread() is threading.main_thread())

    assert (await played(Agent())).fitness == 1.0
    assert (await played(partial(play, 0.5))).fitness == 0.5


@pytest.mark.parametrize("returned", [None, "1.0", {"fitness": 1.0}, [1.0], 1j])
async def test_what_is_neither_is_a_typed_failure(returned: Any) -> None:
    async def play(policy: Any, goal: Any, seed: int) -> Any:
        return returned

    failure = (await played(play)).failure
    assert failure is not None
    assert failure.kind == "result"
    assert f"play returned {type(returned).__name__}, not an Episode" in failure.reason


async def test_a_number_that_is_not_finite_is_a_failure_of_its_own_kind() -> None:
    async def play(policy: Any, goal: Any, seed: int) -> float:
        return float("nan")

    failure = (await played(play)).failure
    assert failure is not None
    assert failure.kind == "fitness"


def test_an_agent_task_is_a_task() -> None:
    assert isinstance(AgentTask("agent", lambda policy, goal, seed: 1.0, (0,), ()), Task)
