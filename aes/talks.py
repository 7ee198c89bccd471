"""The conversations of one episode as token ids, so that what was said once is never encoded again in another way.

A prompt that continues a conversation keeps the ids of that prompt and of its reply as they were, and just the new text
is encoded: the engine's prefix cache carries from turn to turn. A conversation is kept once, with marks where a prompt
or a reply ended; it may be continued from any of them, which is a branch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

REMEMBERED = 8
"""Branches of conversations that are known; what continues another one is encoded anew."""


@dataclass(eq=False, slots=True)
class Talk:
    """Text, its ids, and lengths of both where a prompt or a reply ended; `of` is what it continues to the end."""

    text: str
    ids: list[int]
    marks: tuple[tuple[int, int], ...] = ()
    of: Talk | None = None

    def known(self, text: str) -> int:
        """How many marks lie in what this has in common with a text."""
        for number in range(len(self.marks), 0, -1):
            if text.startswith(self.text[: self.marks[number - 1][0]]):
                return number
        return 0


class Talks:
    """The last few conversations. `encode` makes ids of text."""

    def __init__(self, encode: Callable[[str], list[int]]) -> None:
        self._encode = encode
        self._last: list[Talk] = []

    def prompt(self, text: str) -> Talk:
        """A prompt, from the longest beginning that is known."""
        kept: tuple[tuple[int, int], ...] = ()
        at, parent = (0, 0), None
        for talk in self._last:
            marks = talk.marks[: talk.known(text)]
            if marks and marks[-1] > at:
                kept, at, parent = marks, marks[-1], talk
        length, count = at
        ids = parent.ids[:count] if parent else []
        ids += self._encode(text[length:])
        whole = parent is not None and at == parent.marks[-1]
        return Talk(text, ids, (*kept, (len(text), len(ids))), parent if whole else None)

    def said(self, prompt: Talk, reply: str, reply_ids: Sequence[int]) -> None:
        """Note the reply to a prompt. What it continues to the end is in it, and forgotten by itself."""
        text, ids = prompt.text + reply, [*prompt.ids, *reply_ids]
        others = [talk for talk in self._last if talk is not prompt.of]
        self._last = [*others, Talk(text, ids, (*prompt.marks, (len(text), len(ids))))][-REMEMBERED:]
