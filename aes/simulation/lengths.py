"""How long episodes are: the tokens of every turn of one, from a distribution or as recorded."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import NamedTuple, Protocol

from aes.errors import ConfigError, DataError
from aes.events import Event, Measured
from aes.past import Past


class Turn(NamedTuple):
    """New tokens in the prompt, and tokens of the reply."""

    prompt: int
    reply: int


class Lengths(Protocol):
    """A distribution of episodes."""

    def draw(self, member: str, seed: int) -> Sequence[Turn]:
        """The turns, at least one, of the episode that a member plays with this seed; the same whenever it is asked."""
        ...


@dataclass(frozen=True)
class Lognormal:
    """Turns, and the tokens of every reply, are independent lognormal numbers of these means and one relative spread.

    Attributes:
        turns: mean turns of an episode.
        tokens: mean tokens of a reply.
        spread: standard deviation / mean (0: all alike).
        prompt: new prompt tokens of every turn.
        max_turns: where an episode ends at the latest; it lowers the mean where spread is large.
    """

    turns: float
    tokens: float
    spread: float = 0.0
    prompt: int = 0
    max_turns: int = 50

    def __post_init__(self) -> None:
        if not 1 <= self.turns <= self.max_turns:
            raise ConfigError(f"turns {self.turns:g}: a mean from 1 to max_turns {self.max_turns} (change one of them)")
        if not 1 <= self.tokens < math.inf:
            raise ConfigError(f"tokens {self.tokens:g}: a reply has at least one (raise tokens)")
        if not 0 <= self.spread <= 10:
            raise ConfigError(f"spread {self.spread:g}: standard deviation / mean, from 0 to 10 (change spread)")
        if self.prompt < 0:
            raise ConfigError(f"prompt {self.prompt}: no fewer than 0 tokens (raise prompt)")

    def draw(self, member: str, seed: int) -> Sequence[Turn]:
        """The turns of one episode."""
        luck = Random(f"{member} {seed}")
        turns = min(self._around(self.turns, luck), self.max_turns)
        return [Turn(self.prompt, self._around(self.tokens, luck)) for _ in range(turns)]

    def _around(self, mean: float, luck: Random) -> int:
        """A whole number >= 1 whose mean is `mean`, but for what is cut off below 1."""
        exact = mean
        if self.spread:
            variance = math.log1p(self.spread**2)
            exact = mean * math.exp(luck.gauss(0, math.sqrt(variance)) - variance / 2)
        return max(1, math.floor(exact + luck.random()))


@dataclass(frozen=True)
class Played:
    """Every episode as it was played: its turns by (member, seed). Raises KeyError for one that was not."""

    episodes: Mapping[tuple[str, int], Sequence[Turn]]

    def draw(self, member: str, seed: int) -> Sequence[Turn]:
        """The turns of that episode."""
        return self.episodes[member, seed]


def recorded(folder: Path, prompt: int = 0, max_turns: int = 50) -> Lognormal:
    """The lengths of the episodes in a run's journal, as lognormal numbers.

    A journal has the sums of every proposal, not the single episodes, so the spread is that of the sums, as if the
    episodes of a proposal were independent: spread^2 = mean n_i * variance of (turns_i / n_i) / mean^2. Where episodes
    of one member are alike, the true spread within members is less. Raises DataError for what is no run.
    """
    sums: list[tuple[int, int, int]] = []

    def listen(event: Event) -> None:
        if isinstance(event, Measured):
            measured = event.measurement
            sums.append((measured.episodes, measured.turns, measured.tokens))

    Past.read(folder, listen)
    episodes, turns, tokens = (sum(column) for column in zip(*sums, strict=True)) if sums else (0, 0, 0)
    if not turns or not tokens:
        raise DataError(f"run {folder}: nothing was measured in it (name a run that has begun to learn)")
    mean = turns / episodes
    variance = sum(n * (t / n - mean) ** 2 for n, t, _ in sums) / len(sums)
    return Lognormal(
        mean, max(1.0, tokens / turns), math.sqrt(variance) / mean, prompt, max(max_turns, math.ceil(mean))
    )
