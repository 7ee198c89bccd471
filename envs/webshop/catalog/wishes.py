"""What products can be asked for: each source of goals with its price ceiling, and the goals it stands for."""

from __future__ import annotations

import hashlib
import json
import math
import random
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from aes.errors import DataError
from envs.webshop.catalog.goals import NO_CEILING, Goal, GoalKind
from envs.webshop.catalog.product import HumanInstruction, Product

_CEILINGS = tuple(float(ceiling) for ceiling in range(10, 1000, 10))


@dataclass(frozen=True, slots=True)
class Wish(ABC):
    """A source of goals: they share product, attributes and ceiling, and are told apart by a number from 0."""

    product: Product
    price_upper: float

    @property
    @abstractmethod
    def attributes(self) -> tuple[str, ...]:
        """The attributes asked for."""

    @property
    @abstractmethod
    def count(self) -> int:
        """How many goals this stands for."""

    @abstractmethod
    def _asked(self, number: int) -> tuple[GoalKind, str, Mapping[str, str] | tuple[str, ...], int]:
        """Return the kind, the instruction without its ceiling, the options, and how many equal goals came before."""

    def goal(self, number: int, index: int, weight: float) -> Goal:
        """Make one of the goals, at its place in the shuffled list."""
        kind, instruction, options, repeated = self._asked(number)
        product, ceiling = self.product, self.price_upper
        limit = "" if ceiling == NO_CEILING else f", and price lower than {ceiling:.2f} dollars"
        # The id is made of what is asked for, without the drawn ceiling.
        asked = list(options.items()) if isinstance(options, Mapping) else list(options)
        content = json.dumps([kind, product.asin, instruction, self.attributes, asked])
        digest = hashlib.sha256(content.encode()).hexdigest()[:12]
        return Goal(
            id=f"{digest}-{repeated + 1}" if repeated else digest,
            index=index,
            asin=product.asin,
            category=product.category,
            query=product.query,
            name=product.name,
            product_category=product.product_category,
            instruction=instruction + limit,
            attributes=self.attributes,
            price_upper=ceiling,
            options=options,
            weight=weight,
        )


@dataclass(frozen=True, slots=True)
class SyntheticWish(Wish):
    """One goal per combination of a product's option values; names are sorted, the last one's values turn fastest."""

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes asked for."""
        return self.product.instruction_attributes

    @property
    def count(self) -> int:
        """How many combinations there are; none where an option has no value."""
        return math.prod(len(values) for values in self.product.options.values())

    def _asked(self, number: int) -> tuple[GoalKind, str, Mapping[str, str] | tuple[str, ...], int]:
        chosen = self._combination(number)
        wish = ", and ".join(f"{name}: {value}" for name, value in chosen.items())
        repeats = any(len(set(values)) < len(values) for values in self.product.options.values())
        repeated = sum(self._combination(other) == chosen for other in range(number)) if repeats else 0
        return "synthetic", (self.product.instruction or "") + (f" with {wish}" if wish else ""), chosen, repeated

    def _combination(self, number: int) -> dict[str, str]:
        names = sorted(self.product.options)
        picked = []
        for name in reversed(names):
            number, at = divmod(number, len(self.product.options[name]))
            picked.append(self.product.options[name][at])
        return dict(zip(names, reversed(picked), strict=True))


@dataclass(frozen=True, slots=True)
class HumanWish(Wish):
    """What one crowd worker asked for."""

    asked: HumanInstruction
    repeated: int

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes asked for."""
        return self.asked.attributes

    @property
    def count(self) -> int:
        """One goal."""
        return 1

    def _asked(self, number: int) -> tuple[GoalKind, str, Mapping[str, str] | tuple[str, ...], int]:
        return "human", self.asked.instruction.strip("."), self.asked.options, self.repeated


def wishes_of(products: Iterable[Product], kind: GoalKind, rng: random.Random) -> Iterator[Wish]:
    """Yield the sources of goals in the original's order before its shuffle; `rng` draws their ceilings.

    Raises DataError for a synthetic instruction without attributes.
    """
    return _synthetic(products, rng) if kind == "synthetic" else _human(products, rng)


def price_ceiling(price: float, rng: random.Random) -> float:
    """Draw a ceiling from the four multiples of 10 dollars above a price; no ceiling from 980 dollars on."""
    at = bisect_right(_CEILINGS, price)
    candidates = _CEILINGS[at : at + 4]
    return max(rng.sample(candidates, 2)) if len(candidates) >= 2 else NO_CEILING


def _synthetic(products: Iterable[Product], rng: random.Random) -> Iterator[Wish]:
    for product in products:
        if product.instruction is not None:
            if not product.instruction_attributes:
                raise DataError(
                    f"asin {product.asin}: an instruction without instruction_attributes in the attribute file;"
                    " complete or remove it"
                )
            yield SyntheticWish(product, price_ceiling(product.price, rng))


def _human(products: Iterable[Product], rng: random.Random) -> Iterator[Wish]:
    for product in products:
        seen: list[HumanInstruction] = []
        for asked in product.human:
            if asked.attributes:  # the original counts those without and leaves them out
                yield HumanWish(product, price_ceiling(product.price, rng), asked, seen.count(asked))
                seen.append(asked)
