"""The seams of aes: what a user, an environment and an engine must offer, and nothing more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from aes.types import Completion, Episode, Message


@runtime_checkable
class Policy(Protocol):
    """What an agent talks to: one member of the population, the same for the whole episode."""

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        seed: int | None = None,
        stop: Sequence[str] = (),
    ) -> Completion:
        """Answer a conversation. None takes the run's own setting.

        Append to the messages of the turn before and the engine's prefix cache carries over.
        Cancelling aborts the request in the engine. Raises ContextOverflow when the prompt leaves no room.
        """
        ...


@runtime_checkable
class Task(Protocol):
    """What is learned: goals to train and to evaluate on, and how one of them is played.

    Goals are opaque to aes, which refers to them by position; both sequences never change during a run.
    """

    @property
    def name(self) -> str:
        """A short name for logs and run folders."""
        ...

    @property
    def train_goals(self) -> Sequence[Any]:
        """Goals that fitness is measured on."""
        ...

    @property
    def eval_goals(self) -> Sequence[Any]:
        """Held-out goals, disjoint from the training goals."""
        ...

    @property
    def fingerprint(self) -> Mapping[str, str]:
        """What a result depends on (data hash, split, prompt version); results of unlike ones don't compare."""
        ...

    async def play(self, policy: Policy, goal: Any, seed: int) -> Episode:
        """Play one goal to its end. Equal seeds mean equal luck: members of a pair get the same one."""
        ...


@runtime_checkable
class Environment(Protocol):
    """A text environment in Gymnasium's words; `aes.chat.ChatTask` makes a Task of it."""

    def reset(self, *, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode and return the first observation and info."""
        ...

    def step(self, text: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take the agent's words; return observation, reward, terminated, truncated, info."""
        ...
