"""Evaluation: every goal once, in their order, so many at a time."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest

from aes import ChatTask, Config, Episode, Policy
from aes.engine.fake import FakeEngine
from aes.errors import EngineError
from aes.evaluation import evaluate
from aes.referee import Referee


class Timed:
    """Takes a second or ten per goal; the fitness is the goal; counts how many play at once."""

    name, train_goals, eval_goals = "timed", range(1), range(20)
    fingerprint: dict[str, str] = {}  # noqa: RUF012

    def __init__(self) -> None:
        self.now = self.most = 0
        self.seeds: list[int] = []

    async def play(self, policy: Policy, goal: int, seed: int) -> Episode:
        self.now += 1
        self.most = max(self.most, self.now)
        self.seeds.append(seed)
        try:
            await asyncio.sleep(10 if goal % 5 == 0 else 1)
        finally:
            self.now -= 1
        if goal % 6 == 5:
            raise ValueError("broken")
        return Episode(float(goal), goal > 15, 1, 1)


def test_scores_stand_in_the_order_of_the_goals(virtual: Any) -> None:
    task, engine = Timed(), FakeEngine()
    result = virtual(evaluate(Referee(task, engine, Config(eval_concurrency=4, retries=0)), 0, range(20)))
    assert [s for s in result.scores if not math.isnan(s)] == [float(g) for g in range(20) if g % 6 != 5]
    assert [math.isnan(s) for s in result.scores] == [g % 6 == 5 for g in range(20)]
    assert (result.version, result.failures, result.successes) == (0, 3, 3)
    assert result.solved == (16, 18, 19)
    assert task.most == 4
    assert sorted(task.seeds) == list(range(20))
    assert 14 <= result.seconds < 30
    assert engine.load == (("fake", 0),)
    assert result.why.startswith(
        "3 environment; most often environment: ValueError: broken (at aes/test_evaluation.py:"
    )


def test_a_goal_that_fails_is_tried_again(virtual: Any) -> None:
    task = Timed()
    virtual(evaluate(Referee(task, FakeEngine(), Config(retries=2)), 0, range(20)))
    assert sorted(task.seeds) == sorted([*range(20), 5, 5, 11, 11, 17, 17])


def test_few_goals_need_few_players(virtual: Any) -> None:
    task = Timed()
    virtual(evaluate(Referee(task, FakeEngine(), Config(eval_concurrency=64)), 0, range(3)))
    assert task.most == 3


def test_the_same_version_scores_the_same(shelf: ChatTask, virtual: Any) -> None:
    one, other = (
        virtual(evaluate(Referee(shelf, FakeEngine(), Config(eval_concurrency=c)), 0, range(100, 120))) for c in (1, 9)
    )
    assert one.scores == other.scores


def test_a_version_that_is_gone_is_an_error_of_the_engine(shelf: ChatTask, virtual: Any) -> None:
    with pytest.raises(EngineError, match="version 3 is no longer held"):
        virtual(evaluate(Referee(shelf, FakeEngine(), Config()), 3, range(100, 110)))
