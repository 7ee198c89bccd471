"""What a prompt offers: how an agent is told of the shop, and how its words are read.

    shop --first, show--> text --messages--> policy --reply--> read --Move--> shop

A prompt holds no state: everything it needs of an episode is handed to it, so one object serves all episodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from aes.types import Message
from envs.webshop.shop.shop import TextShop
from envs.webshop.shop.state import ShopState


@dataclass(frozen=True, slots=True)
class Turn:
    """One exchange: the text shown, the reply to it, and the action that was read from the reply."""

    shown: str
    reply: str
    action: str


@dataclass(frozen=True, slots=True)
class Move:
    """A reply as read: what the shop is told, and whether the reply broke the prompt's form.

    The shop refuses an empty action. With an `answer` it is not asked at all: the prompt answers in its place.
    """

    action: str
    malformed: bool = False
    answer: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the shop made of an action: where it was taken, the page after it in the shop's own words, what was wrong.

    `error` is empty for an action that was carried out.
    """

    action: str
    before: ShopState
    page: str
    error: str


class Prompt(Protocol):
    """One way of playing the shop in words; everything that a result depends on but model, catalogue and goals."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def version(self) -> str:
        """Changes with anything that an agent is shown and with how its replies are read."""
        ...

    @property
    def compat(self) -> bool:
        """Whether it is played in the original's shop, or in its mended form."""
        ...

    @property
    def max_turns(self) -> int:
        """Replies after which an episode ends without a purchase."""
        ...

    @property
    def max_tokens(self) -> int | None:
        """The longest reply in tokens where the user names none; None: the run's own default."""
        ...

    @property
    def stop(self) -> tuple[str, ...]:
        """Texts that end a reply."""
        ...

    def first(self, shop: TextShop, page: str) -> str:
        """Tell of a shop that has just been reset, whose own words are `page`."""
        ...

    def show(self, shop: TextShop, outcome: Outcome) -> str:
        """Tell what came of an action."""
        ...

    def messages(self, shop: TextShop, turns: Sequence[Turn], shown: str) -> list[Message]:
        """What the policy is asked now: after these turns, with this text before it."""
        ...

    def read(self, shop: TextShop, reply: str) -> Move:
        """Read a reply."""
        ...


def conversation(texts: Sequence[str], turns: Sequence[Turn], system: str | None = None) -> list[Message]:
    """An appended chat: one text more than turns, each but the last followed by its turn's reply.

    It only ever grows at its end, so that an engine's prefix cache carries from turn to turn.
    """
    return list(_conversation(texts, turns, system))


def _conversation(texts: Sequence[str], turns: Sequence[Turn], system: str | None) -> Iterator[Message]:
    if system is not None:
        yield {"role": "system", "content": system}
    for text, turn in zip(texts[:-1], turns, strict=True):
        yield {"role": "user", "content": text}
        yield {"role": "assistant", "content": turn.reply}
    yield {"role": "user", "content": texts[-1]}
