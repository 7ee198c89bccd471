"""An agent of your own as a Task: a coroutine that plays one goal with the policy it is given."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

from aes.protocols import Policy
from aes.threads import EpisodeThread
from aes.types import Episode

Result = Episode | float
"""What a play comes to."""


@dataclass(frozen=True)
class AgentTask:
    """A Task made of a function that plays one goal.

    `play(policy, goal, seed)` returns the fitness as a number (success is then a fitness of at least 1), or an Episode
    that says more. The policy counts turns and tokens; an Episode's own come first where it tells any. Draw whatever is
    random from `seed`: both members of a pair get the same one. A coroutine function runs in the event loop; a plain
    `def` runs in a thread of its own and reaches the member through `policy.base_url`, for agents that block.

    Example:
        async def play(policy, goal, seed):
            reply = await policy.complete([{"role": "user", "content": f"{goal} + {goal} = ?"}])
            return float(str(2 * goal) in reply.text)

        task = AgentTask("doubling", play, train_goals=range(100), eval_goals=range(100, 150))
    """

    name: str
    run: Callable[[Policy, Any, int], Awaitable[Result] | Result]
    train_goals: Sequence[Any]
    eval_goals: Sequence[Any]
    fingerprint: Mapping[str, str] = field(default_factory=dict)

    async def play(self, policy: Policy, goal: Any, seed: int) -> Episode:
        """Play one goal; lets cancellation and whatever the function raises pass.

        What it returns that is neither an Episode nor a number is passed on, to be told as a failure of kind `result`.
        """
        if inspect.iscoroutinefunction(self.run) or inspect.iscoroutinefunction(type(self.run).__call__):
            result: Any = self.run(policy, goal, seed)
        else:
            _ = policy.base_url  # opened here, for it can't be from another thread
            with EpisodeThread() as thread:
                result = await thread.call(self.run, policy, goal, seed)
        if inspect.isawaitable(result):
            result = await result
        if not isinstance(result, Real):
            return result  # type: ignore[no-any-return]
        fitness = float(result)
        return Episode(fitness=fitness, success=fitness >= 1.0)
