"""The score of a purchase, taken apart for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from envs.webshop.catalog.goals import NO_CEILING
from envs.webshop.catalog.product import Product
from envs.webshop.reward.reward import Score
from envs.webshop.shop.shop import TextShop


@dataclass(frozen=True, slots=True)
class Part:
    """One summand: what it is about, how much of it was met (in [0, 1]), its weight, both sides in words."""

    name: str
    met: float
    weight: float
    asked: str
    bought: str

    @property
    def points(self) -> float:
        """What it adds to the sum."""
        return self.met * self.weight


@dataclass(frozen=True, slots=True)
class Verdict:
    """total = factor * (the points of all parts), with the reason for the factor."""

    total: float
    success: bool
    factor: float
    reason: str
    parts: tuple[Part, ...]

    @classmethod
    def of(cls, shop: TextShop) -> Self | None:
        """Explain the score of a shop where something has been bought; None where nothing has."""
        score, product = shop.score, shop.state.product
        if score is None or product is None:
            return None
        parts = tuple(_parts(shop, score, product))
        return cls(score.total, score.success, score.r_type, _reason(score), parts)

    @property
    def sum(self) -> float:
        """The points of all parts together."""
        return sum(part.points for part in self.parts)


def _parts(shop: TextShop, score: Score, product: Product) -> list[Part]:
    goal, chosen = shop.goal, _named(shop.state.options)
    limit = "any price" if goal.price_upper == NO_CEILING else f"at most ${goal.price_upper:,.2f}"
    met = f"{_count(score.r_att, goal.attributes)} met"
    parts = [Part("Attributes", score.r_att, score.w_att, ", ".join(goal.attributes), met)]
    if score.r_option is not None and score.w_option is not None:
        wanted = _named(goal.options) if isinstance(goal.options, Mapping) else list(goal.options)
        met = f"{_count(score.r_option, wanted)} met; chosen: {', '.join(chosen) or 'nothing'}"
        parts.append(Part("Options", score.r_option, score.w_option, ", ".join(wanted), met))
    return [*parts, Part("Price", float(score.r_price), score.w_price, limit, f"${product.price:,.2f}")]


def _named(options: Mapping[str, str]) -> list[str]:
    return [f"{name}: {value}" for name, value in options.items()]


def _count(share: float, wanted: Sequence[str]) -> str:
    return f"{round(share * len(wanted))} of {len(wanted)}"


def _reason(score: Score) -> str:
    """Say why the product counts as the right kind or not, in the order in which the reward decides."""
    title = f"the titles share {score.title_score:.0%} of the wanted nouns"
    if score.title_score < 0.1:
        return f"another kind of product: {title}"
    if score.query_match:
        return "the right kind of product: it is found under the same search"
    if score.category_match:
        return "the right kind of product: it is in the same category"
    return f"{'the right' if score.r_type == 1.0 else 'maybe not the right'} kind of product: {title}"
