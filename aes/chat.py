"""One chat loop for every text environment: observations are user messages, replies are actions."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, TypeVar

from aes.policy import turn_seed
from aes.protocols import AsyncEnvironment, Environment, Policy
from aes.threads import EpisodeThread
from aes.types import Episode, Message

_T = TypeVar("_T")
_Call = Callable[..., Awaitable[Any]]


@dataclass(frozen=True)
class ChatTask:
    """A Task made of an environment: `make(goal)` gives a fresh environment for one episode.

    The fitness is the sum of the rewards; success is `info["success"]` of the last step where the environment
    gives it, else a fitness of at least 1. Numbers in the last `info` travel in the Episode's `info`.
    `reset` and `step` may be coroutines: other episodes go on while one waits, and cancelling ends its wait. Where they
    block instead, `threaded` gives each episode a thread: `make`, `reset` and `step` are then called in it, one at a
    time, and an episode whose time is up leaves its thread to itself.

    Example:
        task = ChatTask("guess", make=GuessEnv, train_goals=range(100), eval_goals=range(100, 150))
    """

    name: str
    make: Callable[[Any], Environment | AsyncEnvironment]
    train_goals: Sequence[Any]
    eval_goals: Sequence[Any]
    system: str | None = None
    max_turns: int = 15
    fingerprint: Mapping[str, str] = field(default_factory=dict)
    threaded: bool = False

    async def play(self, policy: Policy, goal: Any, seed: int) -> Episode:
        """Play one goal; lets EpisodeError and cancellation pass, and leaves nothing behind but a blocked thread."""
        if not self.threaded:
            return await self._play(_here, policy, goal, seed)
        with EpisodeThread() as thread:
            return await self._play(thread.call, policy, goal, seed)

    async def _play(self, call: _Call, policy: Policy, goal: Any, seed: int) -> Episode:
        env = await call(self.make, goal)
        observation, info = await _settled(await call(env.reset, seed=seed))
        messages: list[Message] = []
        if self.system is not None:
            messages.append({"role": "system", "content": self.system})
        fitness, tokens, turns, over = 0.0, 0, 0, False
        while not over and turns < self.max_turns:
            messages.append({"role": "user", "content": observation})
            reply = await policy.complete(messages, seed=turn_seed(seed, turns))
            messages.append({"role": "assistant", "content": reply.text})
            observation, reward, terminated, truncated, info = await _settled(await call(env.step, reply.text))
            fitness, tokens, turns = fitness + reward, tokens + len(reply.token_ids), turns + 1
            over = terminated or truncated
        return Episode(
            fitness=fitness,
            success=bool(info.get("success", fitness >= 1.0)),
            turns=turns,
            tokens=tokens,
            transcript=tuple(messages),
            info={key: float(value) for key, value in info.items() if isinstance(value, Real)},
        )


async def _here(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    return function(*arguments, **options)


async def _settled(result: _T | Awaitable[_T]) -> _T:
    """Wait for what a coroutine will return; anything else is there already."""
    return await result if inspect.isawaitable(result) else result
