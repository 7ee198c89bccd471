"""A task whose episodes are as long as one wishes: conversations about nothing, of shop's words, on any model."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from aes.policy import turn_seed
from aes.protocols import Policy
from aes.types import Episode, Message
from envs.webshop import Catalog

LONGEST = 24
"""Turns of the longest episode."""


@dataclass(frozen=True)
class Talk:
    """Conversations whose numbers of turns are lognormal: of one length where the spread is 0.

    Attributes:
        turns: the mean of the turns an episode has.
        spread: the standard deviation of the logarithm of the turns.
        opening, page: how many sentences the first message and every later one have, of about 25 tokens each.
    """

    texts: Sequence[str]
    turns: float
    spread: float
    opening: int = 4
    page: int = 2
    name: str = "talk"
    train_goals: Sequence[int] = range(4096)
    eval_goals: Sequence[int] = range(4096, 4097)
    fingerprint: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def about(cls, catalog: Catalog, turns: float, spread: float) -> Talk:
        """With the words of a catalogue's goals."""
        return cls([goal.instruction for goal in catalog.goals("synthetic", "train")], turns, spread)

    def length(self, goal: int) -> int:
        """The turns of one goal."""
        drawn = random.Random(goal).gauss(math.log(self.turns) - self.spread**2 / 2, self.spread)
        return min(max(1, round(math.exp(drawn))), LONGEST)

    async def play(self, policy: Policy, goal: int, seed: int) -> Episode:
        """Talk for as long as the goal takes; the fitness has no meaning, but differs."""
        luck, messages, tokens = random.Random(goal), list[Message](), list[int]()
        for turn in range(self.length(goal)):
            said = " ".join(luck.choice(self.texts) for _ in range(self.page if turn else self.opening))
            messages.append({"role": "user", "content": said})
            reply = await policy.complete(messages, seed=turn_seed(seed, turn))
            messages.append({"role": "assistant", "content": reply.text})
            tokens += reply.token_ids
        return Episode(sum(tokens) % 101 / 101, False, self.length(goal), len(tokens))
