"""What an agent talks to: chat messages in, one member's reply out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aes.errors import ContextOverflow
from aes.protocols import Codec, Seat
from aes.types import Completion, Message, Sampling


class MemberPolicy:
    """One member for one episode.

    Prompts go to the engine as token ids that only grow: when a conversation continues the last one, the ids of that
    prompt and of its reply are kept as they were and just the new text is encoded, so that the engine's prefix cache
    carries from turn to turn and a reply is never encoded in another way than it was generated.
    """

    def __init__(self, seat: Seat, codec: Codec, context: int, sampling: Sampling) -> None:
        self._seat = seat
        self._codec = codec
        self._context = context
        self._sampling = sampling
        self._text = ""
        self._ids: list[int] = []

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        seed: int | None = None,
        stop: Sequence[str] = (),
    ) -> Completion:
        """Answer a conversation; see `aes.protocols.Policy`."""
        text = self._codec.render(messages)
        prompt = self._encode(text)
        room = self._context - len(prompt)
        if room < 1:
            raise ContextOverflow(f"prompt of {len(prompt)} tokens, context of {self._context} (raise context)")
        sampling = replace(
            self._sampling,
            max_tokens=min(max_tokens or self._sampling.max_tokens, room),
            temperature=self._sampling.temperature if temperature is None else temperature,
            seed=seed,
            stop=tuple(stop),
        )
        reply = await self._seat.generate(prompt, sampling)
        self._text, self._ids = text + reply.text, prompt + self._without_end(reply.token_ids)
        return reply

    def _encode(self, text: str) -> list[int]:
        if self._text and text.startswith(self._text):
            return self._ids + self._codec.encode(text[len(self._text) :])
        return self._codec.encode(text)

    def _without_end(self, ids: Sequence[int]) -> list[int]:
        return [token for token in ids if token not in self._codec.end_ids]
