"""Goals: what an agent is sent to buy."""

from __future__ import annotations

import bisect
import hashlib
import itertools
import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from aes.errors import DataError
from envs.webshop.catalog.product import Product

GoalKind = Literal["synthetic", "human"]

NO_CEILING = 1_000_000.0
"""The ceiling of a goal that has none, in dollars."""

_CEILINGS = tuple(float(ceiling) for ceiling in range(10, 1000, 10))
_SHUFFLE_SEED = 233
_CURE = {
    "synthetic": "add instructions to its attribute file, or take kind 'human'",
    "human": "add items_human_ins.json to its folder, or take kind 'synthetic'",
}


@dataclass(frozen=True, slots=True)
class Goal:
    """One shopping goal.

    `index` is its position in the shuffled list of its kind, which splits refer to; `id` is a hash of its content
    and stays the same when the list around it grows. `instruction` is the whole text, price ceiling included.
    `options` is a mapping for a synthetic goal and a tuple of values for a human one: the reward treats the two
    differently, as the original does. `price_upper` is in dollars; 1,000,000 means no ceiling. `weight` is the
    original's sampling weight.
    """

    id: str
    index: int
    asin: str
    category: str
    query: str
    name: str
    product_category: str
    instruction: str
    attributes: tuple[str, ...]
    price_upper: float
    options: Mapping[str, str] | tuple[str, ...]
    weight: float = 1.0

    def __hash__(self) -> int:
        return hash(self.id)

    @property
    def option_values(self) -> tuple[str, ...]:
        """The option values to choose, whichever kind of goal this is."""
        return tuple(self.options.values()) if isinstance(self.options, Mapping) else self.options


@dataclass(frozen=True, slots=True)
class _Draft:
    """A goal before weights and positions are known."""

    product: Product
    instruction: str
    price_upper: float
    attributes: tuple[str, ...]
    options: Mapping[str, str] | tuple[str, ...]


def goals_of(products: Iterable[Product], kind: GoalKind, rng: random.Random) -> tuple[Goal, ...]:
    """Return all goals of one kind in the original's shuffled order (seed 233).

    `rng` draws the price ceilings; hand it over in the state in which the product prices have left it and every
    number equals the original's. Raises DataError when the products have no goal of this kind.
    """
    drafts = list(_synthetic(products, rng) if kind == "synthetic" else _human(products, rng))
    if not drafts:
        raise DataError(f"the catalogue has no {kind} goals; {_CURE[kind]}")
    weights = _weights(drafts) if kind == "synthetic" else [1.0] * len(drafts)
    ids = _ids(drafts, kind)
    order = list(range(len(drafts)))
    random.Random(_SHUFFLE_SEED).shuffle(order)
    return tuple(_goal(drafts[at], ids[at], index, weights[at]) for index, at in enumerate(order))


def price_ceiling(price: float, rng: random.Random) -> float:
    """Draw a ceiling from the four multiples of 10 dollars above a price; no ceiling from 980 dollars on."""
    candidates = [ceiling for ceiling in _CEILINGS if ceiling > price][:4]
    return max(rng.sample(candidates, 2)) if len(candidates) >= 2 else NO_CEILING


def draw_goal(goals: Sequence[Goal], rng: random.Random, compat: bool = False) -> Goal:
    """Draw a goal by weight; the original is off by one (the first never comes), and so is the compatible form."""
    sums = list(itertools.accumulate(goal.weight for goal in goals))
    at = bisect.bisect_right(sums, rng.uniform(0, sums[-1])) + compat
    return goals[min(at, len(goals) - 1)]


def _synthetic(products: Iterable[Product], rng: random.Random) -> Iterator[_Draft]:
    """Make one goal per combination of option values; the combinations of a product share its ceiling."""
    for product in products:
        if product.instruction is None:
            continue
        if not product.instruction_attributes:
            raise DataError(f"asin {product.asin}: an instruction without instruction_attributes; complete it")
        ceiling = price_ceiling(product.price, rng)
        names = sorted(product.options)
        for values in itertools.product(*(product.options[name] for name in names)):
            chosen = dict(zip(names, values, strict=True))
            wish = ", and ".join(f"{name}: {value}" for name, value in chosen.items())
            text = product.instruction + (f" with {wish}" if wish else "")
            yield _Draft(product, text, ceiling, product.instruction_attributes, chosen)


def _human(products: Iterable[Product], rng: random.Random) -> Iterator[_Draft]:
    """Make one goal per crowd instruction that names an attribute, each with a ceiling of its own."""
    for product in products:
        for asked in product.human:
            if asked.attributes:
                ceiling = price_ceiling(product.price, rng)
                yield _Draft(product, asked.instruction.strip("."), ceiling, asked.attributes, asked.options)


def _weights(drafts: list[_Draft]) -> list[float]:
    """Weigh a goal by the mean over its attributes of 1 / (goals that have the attribute)."""
    counts = Counter(attribute for draft in drafts for attribute in draft.attributes)
    return [sum(1.0 / counts[a] for a in draft.attributes) / len(draft.attributes) for draft in drafts]


def _ids(drafts: list[_Draft], kind: GoalKind) -> list[str]:
    """Hash what is asked for, without the drawn ceiling; equal goals are told apart by a number."""
    seen: Counter[str] = Counter()
    ids = []
    for draft in drafts:
        options = list(draft.options.items()) if isinstance(draft.options, Mapping) else list(draft.options)
        content = json.dumps([kind, draft.product.asin, draft.instruction, draft.attributes, options])
        digest = hashlib.sha256(content.encode()).hexdigest()[:12]
        seen[digest] += 1
        ids.append(digest if seen[digest] == 1 else f"{digest}-{seen[digest]}")
    return ids


def _goal(draft: _Draft, goal_id: str, index: int, weight: float) -> Goal:
    product, ceiling = draft.product, draft.price_upper
    suffix = "" if ceiling == NO_CEILING else f", and price lower than {ceiling:.2f} dollars"
    return Goal(
        id=goal_id,
        index=index,
        asin=product.asin,
        category=product.category,
        query=product.query,
        name=product.name,
        product_category=product.product_category,
        instruction=draft.instruction + suffix,
        attributes=draft.attributes,
        price_upper=ceiling,
        options=draft.options,
        weight=weight,
    )
