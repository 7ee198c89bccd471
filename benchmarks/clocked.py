"""A clock for what a task itself takes of its thread's processor, apart from the replies it waits for."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from aes.protocols import Policy, Task
from aes.types import Completion, Episode, Message


@dataclass
class ClockedTask:
    """A task with a clock that runs while no reply is being waited for. The task must wait for nothing else."""

    inner: Task
    seconds: float = 0.0
    name: str = field(init=False)
    train_goals: Sequence[Any] = field(init=False)
    eval_goals: Sequence[Any] = field(init=False)
    fingerprint: Any = field(init=False)

    def __post_init__(self) -> None:
        inner = self.inner
        self.name, self.fingerprint = inner.name, inner.fingerprint
        self.train_goals, self.eval_goals = inner.train_goals, inner.eval_goals

    async def play(self, policy: Policy, goal: Any, seed: int) -> Episode:
        """Play, by the clock."""
        clocked = ClockedPolicy(policy)
        episode = await self.inner.play(cast("Policy", clocked), goal, seed)
        self.seconds += clocked.stop()
        return episode


class ClockedPolicy:
    """A policy that takes the time between its replies; it can do no more than complete."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._since = time.thread_time()
        self._seconds = 0.0

    def stop(self) -> float:
        """The time so far."""
        return self._seconds + time.thread_time() - self._since

    async def complete(self, messages: Sequence[Message], **options: Any) -> Completion:
        """Stop the clock until the reply is here."""
        self._seconds += time.thread_time() - self._since
        try:
            return await self._policy.complete(messages, **options)
        finally:
            self._since = time.thread_time()
