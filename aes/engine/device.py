"""A device of a pool: its engine, whether it is live, and who sits there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from aes.errors import EngineLost
from aes.protocols import Engine, Seat
from aes.types import Completion, Sampling, Update


class Missed(NamedTuple):
    """An update that the other engines applied while one was away, and the digest they came to."""

    update: Update
    keep: Collection[int]
    digest: str


@dataclass(eq=False)
class Device:
    """One engine of a pool and how it fares.

    Attributes:
        restarts: how often it may still be opened again.
        seated: members that have a seat there, or have not left yet the one they had when it was lost.
        live: whether it takes members and updates.
        lives: how often it has been live: what belongs to one life is void in the next.
        gone: whether it is lost for good.
        why: what it was lost of last.
        missed: what it must still apply once it is back.
    """

    engine: Engine
    restarts: int
    seated: int = 0
    live: bool = True
    lives: int = 1
    gone: bool = False
    why: str = ""
    missed: list[Missed] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The device's name, as the engine gives it."""
        return self.engine.load[0][0]

    @property
    def free(self) -> int:
        """Members that may still be seated: its slots and one more, for evaluation."""
        return self.engine.slots + 1 - self.seated if self.live else 0


class WatchedSeat:
    """A seat that remembers the loss of its engine, even where a play has caught the error and gone on."""

    def __init__(self, seat: Seat) -> None:
        self._seat = seat
        self.lost: EngineLost | None = None

    async def generate(self, prompt: Sequence[int], sampling: Sampling) -> Completion:
        """See `aes.protocols.Seat`."""
        try:
            return await self._seat.generate(prompt, sampling)
        except EngineLost as error:
            self.lost = error
            raise
