"""The seams of aes: what a user, an environment and an engine must offer, and nothing more."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from aes.structured import Structured
from aes.types import Advanced, Completion, Episode, Member, Message, Sampling, Tool, Update


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
        structured: Structured | None = None,
        tools: Sequence[Tool] = (),
    ) -> Completion:
        """Answer a conversation. None takes the run's own setting; for the seed, one of the episode's luck.

        A reply that ends at a text of `stop` ends with it, as it was generated.
        Append to the messages of a turn before and the engine's prefix cache carries over, in each of several
        conversations too. `structured` is the form that the reply must have; `tools` are told to the model as its chat
        template writes them. Cancelling aborts the request in the engine. Raises ContextOverflow when the prompt leaves
        no room, GenerationFailed where the engine refuses the request or the model takes no tools.
        """
        ...

    @property
    def base_url(self) -> str:
        """Address of an OpenAI-compatible endpoint on this machine that is this member, until the episode is over."""
        ...

    @property
    def api_key(self) -> str:
        """A key for the same endpoint. The address proves who asks, so any other key will do as well."""
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
        """What a result depends on (data hash, prompt version); results of unlike ones don't compare.

        "eval_split", where there is one, names the held-out goals in metrics and tables.
        """
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


class AsyncEnvironment(Protocol):
    """The same as `Environment` with coroutines: for an environment that waits, such as one over a network."""

    async def reset(self, *, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode and return the first observation and info."""
        ...

    async def step(self, text: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take the agent's words; return observation, reward, terminated, truncated, info."""
        ...


class Codec(Protocol):
    """From messages to token ids and back, for one model."""

    @property
    def end_ids(self) -> frozenset[int]:
        """Token ids that end a reply."""
        ...

    def render(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> str:
        """The conversation as the model's prompt text, ready for its next reply.

        Raises GenerationFailed for tools that the model can't take.
        """
        ...

    def encode(self, text: str) -> list[int]:
        """Token ids of prompt text; adds nothing."""
        ...

    def decode(self, token_ids: Sequence[int]) -> str:
        """The text of a reply, without tokens that end it."""
        ...


class Seat(Protocol):
    """One member's place in an engine: its adapter is loaded, or will be at the first request."""

    async def generate(self, prompt: Sequence[int], sampling: Sampling) -> Completion:
        """Answer token ids. Cancelling aborts the request. Raises GenerationFailed, or EngineLost ever after."""
        ...


class Engine(Protocol):
    """What serves members: vLLM on one device, several of them behind one front, or a fake.

    An engine is an async context manager; entering it loads the model, leaving it ends every process it started.
    One that dies or hangs is lost: whatever is asked of it raises EngineLost, `lost` returns, and its seats are void
    for good. Left and entered again it is as new; leaving one that is not open does nothing.
    """

    @property
    def slots(self) -> int:
        """How many training members may decode together; one more place is kept for evaluation."""
        ...

    @property
    def context(self) -> int:
        """The longest conversation in tokens, prompt and reply together."""
        ...

    @property
    def codec(self) -> Codec:
        """The model's tokenizer and chat template."""
        ...

    @property
    def wants_observation(self) -> bool:
        """Whether `observe` must see episodes of the base model before `start`."""
        ...

    @property
    def fingerprint(self) -> Mapping[str, str]:
        """What results depend on: model, adapter space, device type, library versions."""
        ...

    @property
    def load(self) -> Sequence[tuple[str, int]]:
        """Per device: its name and how many members sit there now."""
        ...

    async def __aenter__(self) -> Engine: ...

    async def __aexit__(self, *exc: object) -> None: ...

    async def lost(self) -> str:
        """Wait until the engine dies or hangs; why."""
        ...

    def seat(self, member: Member) -> AbstractAsyncContextManager[Seat]:
        """A place for one member until the context is left."""
        ...

    async def observe(self, on: bool) -> None:
        """Begin or end the recording of module inputs (for adapters that start from activations)."""
        ...

    async def start(self, seed: int, sigma: float, basis: Path) -> tuple[str, int]:
        """Make version 0, prove at this sigma that adapters are applied (the canary), and return (digest, dim).

        Adapters that start from activations write their basis to the file `basis`, or read it where it exists.
        Raises CanaryFailed.
        """
        ...

    async def advance(self, update: Update, keep: Collection[int], lags: Collection[int]) -> Advanced:
        """Apply an update; keep only the versions in `keep` and the newest.

        Raises EngineError, DigestMismatch; after EngineLost nobody knows whether it was applied.
        """
        ...

    async def export(self, version: int, folder: Path) -> None:
        """Write a version's adapter in PEFT format."""
        ...
