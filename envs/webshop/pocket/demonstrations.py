"""What the pocket policy is shown: training goals, played by scripted shoppers of mixed diligence."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

from transformers import PreTrainedTokenizerFast

from envs.webshop.agent.view import View
from envs.webshop.catalog.catalog import Catalog
from envs.webshop.catalog.goals import Goal
from envs.webshop.pocket.shopper import Decision, Diligence, Shopper
from envs.webshop.pocket.tokenizer import END, SHOP, SHOPPER
from envs.webshop.shop.shop import TextShop


@dataclass(frozen=True, slots=True)
class Demonstration:
    """One shown episode: its tokens, and which of them are to be imitated."""

    tokens: tuple[int, ...]
    counted: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Temper:
    """How diligent the shown shoppers are: the odds of care differ by kind of product and decision.

    Their logarithms are spread evenly over [low, high], drawn once for each (kind, decision). A policy that
    imitates them and answers greedily is careful only where they are above zero, and a little more or less of its
    inclination changes its mind on a few kinds at a time: fitness is then a smooth function of the weights.
    """

    low: float = -1.2
    high: float = 0.3

    def odds(self, kind: str, decision: Decision) -> float:
        """The probability of a careful decision."""
        digest = hashlib.sha256(f"{kind}/{decision}".encode()).digest()
        even = int.from_bytes(digest[:4]) / 2**32
        return 1.0 / (1.0 + math.exp(-(self.low + (self.high - self.low) * even)))


def examples(
    catalog: Catalog, tokenizer: PreTrainedTokenizerFast, count: int, seed: int, temper: Temper
) -> Iterator[Demonstration]:
    """Play `count` training goals, each by a shopper whose every decision is drawn from the temper's odds."""
    rng = random.Random(f"examples/{seed}")

    def diligence(goal: Goal, decision: Decision) -> bool:
        return rng.random() < (0.5 if decision == "buy" else temper.odds(goal.query, decision))

    yield from _plays(catalog, tokenizer, count, rng, diligence, thoughts=True)


def drills(catalog: Catalog, tokenizer: PreTrainedTokenizerFast, count: int, seed: int) -> Iterator[Demonstration]:
    """Play mostly with care and count the actions only: practice in copying that says nothing about inclination."""
    rng = random.Random(f"drills/{seed}")
    yield from _plays(catalog, tokenizer, count, rng, lambda goal, decision: rng.random() < 0.75, thoughts=False)


def _plays(
    catalog: Catalog,
    tokenizer: PreTrainedTokenizerFast,
    count: int,
    rng: random.Random,
    diligence: Diligence,
    *,
    thoughts: bool,
) -> Iterator[Demonstration]:
    goals = catalog.goals("synthetic", "train")
    for _ in range(count):
        yield _play(catalog, _Writer(tokenizer, thoughts), Shopper(rng.choice(goals), diligence))


def _play(catalog: Catalog, writer: _Writer, shopper: Shopper) -> Demonstration:
    view = View()
    shop = TextShop(catalog)
    shop.reset(shopper.goal)
    writer.page(view.first(shopper.goal))
    over = False
    while not over:
        before = shop.state
        reply = shopper.reply(before, catalog.products.__getitem__)
        writer.reply(reply)
        _, _, over, _, _ = shop.step(reply.partition(" ")[2])
        if not over:
            writer.page(view.next(before, shop.state, catalog.products.__getitem__))
    return writer.done()


class _Writer:
    """Writes a conversation as the chat template does, and keeps account of what is to be imitated."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, thoughts: bool) -> None:
        self._tokenizer = tokenizer
        self._thoughts = thoughts
        self._tokens: list[int] = []
        self._counted: list[bool] = []

    def page(self, text: str) -> None:
        self._write(SHOP + text + SHOPPER, counted=False)

    def reply(self, text: str) -> None:
        thought = len(self._tokens)
        self._write(text + END, counted=True)
        self._counted[thought] = self._thoughts

    def done(self) -> Demonstration:
        return Demonstration(tuple(self._tokens), tuple(self._counted))

    def _write(self, text: str, *, counted: bool) -> None:
        tokens = self._tokenizer.encode(text, add_special_tokens=False)
        self._tokens += tokens
        self._counted += [counted] * len(tokens)
