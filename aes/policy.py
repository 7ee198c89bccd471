"""What an agent talks to: chat messages in, one member's reply out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from aes.errors import AesError, ContextOverflow, EngineError
from aes.protocols import Codec, Policy, Seat
from aes.structured import Structured
from aes.talks import Talks
from aes.types import Completion, Message, Sampling, Tool

if TYPE_CHECKING:
    from aes.endpoint import Door


class MemberPolicy:
    """One member for one episode. Several conversations may go on at once, or branch off one another.

    Attributes:
        turns, tokens: replies so far, and the tokens in them.
    """

    def __init__(
        self,
        seat: Seat,
        codec: Codec,
        context: int,
        sampling: Sampling,
        seed: int = 0,
        admit: Callable[[Policy], Door] | None = None,
    ) -> None:
        """`seed` is the episode's luck, `admit` opens a way in through the endpoint."""
        self.turns = self.tokens = 0
        self._seat = seat
        self._codec = codec
        self._context = context
        self._sampling = sampling
        self._seed = seed
        self._asked = 0
        self._talks = Talks(codec.encode)
        self._admit = admit
        self._door: Door | None = None

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
        """Answer a conversation; see `aes.protocols.Policy`."""
        prompt = self._talks.prompt(self._codec.render(messages, tools))
        length = len(prompt.ids)
        room = self._context - length
        if room < 1:
            raise ContextOverflow(f"prompt of {length} tokens, context of {self._context} (raise context)")
        sampling = replace(
            self._sampling,
            max_tokens=min(max_tokens or self._sampling.max_tokens, room),
            temperature=self._sampling.temperature if temperature is None else temperature,
            seed=turn_seed(self._seed, self._asked) if seed is None else seed,
            stop=tuple(stop),
            structured=structured,
        )
        self._asked += 1
        reply = await self._seat.generate(prompt.ids, sampling)
        self._talks.said(prompt, reply.text, self._without_end(reply.token_ids))
        self.turns, self.tokens = self.turns + 1, self.tokens + len(reply.token_ids)
        return reply

    @property
    def base_url(self) -> str:
        """See `aes.protocols.Policy`. To be asked for in the event loop's thread."""
        return self._open_door().url

    @property
    def api_key(self) -> str:
        """See `aes.protocols.Policy`."""
        return self._open_door().token

    @property
    def trouble(self) -> AesError | None:
        """Why the last request through the endpoint came to nothing, if it did."""
        return None if self._door is None else self._door.failed

    def close(self) -> None:
        """The episode is over: nobody comes in any more."""
        self._admit = _nobody
        if self._door is not None:
            self._door.close()

    def _open_door(self) -> Door:
        if self._admit is None:
            raise EngineError("policy.base_url: there is no endpoint outside of a run (play the task in an aes.Run)")
        self._door = self._door or self._admit(self)
        return self._door

    def _without_end(self, ids: Sequence[int]) -> list[int]:
        return [token for token in ids if token not in self._codec.end_ids]


def _nobody(policy: Policy) -> Door:
    raise EngineError("policy.base_url: the episode is over (ask for it while it is played)")


def turn_seed(seed: int, turn: int) -> int:
    """The sampling seed of one turn: it belongs to the goal and the turn, not to the member.

    Members of one proposal then share their luck (common random numbers), so that only their weights differ.
    """
    return (seed * 0x9E3779B1 + turn * 0x85EBCA6B) & 0x7FFFFFFF
