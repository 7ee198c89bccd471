"""The catalogue: products, search and goals, loaded once and shared read-only by every shop."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple
from functools import cached_property, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from aes.errors import DataError, UsageError
from envs.webshop.catalog.goals import Goal, GoalKind, goals_of
from envs.webshop.catalog.item import Item
from envs.webshop.catalog.loader import read_folder
from envs.webshop.catalog.product import Product
from envs.webshop.catalog.records import products_from
from envs.webshop.catalog.splits import SPLITS, Split, split_range
from envs.webshop.search.index import SearchIndex

SEARCH_LIMIT = 50
"""How many products a keyword search returns."""

LARGE = 20_000
"""From so many products on a search may take milliseconds."""

_CACHED_QUERIES = 4096
_CACHED_ITEMS = 16384


class Catalog:
    """Products with their search index and goals; nothing in it changes after construction.

    Every random draw (prices of products that have a range, then price ceilings of goals) comes from one generator
    seeded with `seed` and in the original's order, so one folder and one seed always give the same goals.

    Example:
        catalog = Catalog.load("data")
        found = catalog.search("red shoes")
        goals = catalog.goals("synthetic", "train")
    """

    def __init__(self, products: Iterable[Product], *, rng: random.Random) -> None:
        self.products: Mapping[str, Product] = MappingProxyType({product.asin: product for product in products})
        if not self.products:
            raise DataError("the catalogue is empty: no product record was usable; check the product file")
        # Both kinds of goals draw their ceilings from where the prices have left the generator.
        self._rng_state = rng.getstate()
        self._cached_search = lru_cache(_CACHED_QUERIES)(self._search)
        self._cached_goals = lru_cache(None)(self._goals)
        self._cached_item = lru_cache(_CACHED_ITEMS)(self._item)

    def __deepcopy__(self, memo: object) -> Catalog:
        """Return itself: what never changes is shared, whoever copies what holds it (as Gymnasium copies its specs)."""
        return self

    @classmethod
    def load(cls, folder: str | Path, *, seed: int = 0, limit: int | None = None) -> Catalog:
        """Load the original's JSON files from a folder; see `loader.read_folder` for the names looked for.

        `limit` keeps the first so many records of the product file. Raises DataError naming file and record.
        """
        files = read_folder(folder)
        rng = random.Random(seed)
        products = products_from(files.products[:limit], files.attributes, files.human, rng, files.names)
        return cls(products, rng=rng)

    @classmethod
    def from_records(
        cls,
        products: Sequence[Any],
        attributes: Mapping[str, Any],
        human: Mapping[str, Any] | None = None,
        *,
        seed: int = 0,
    ) -> Catalog:
        """Build a catalogue from JSON objects already parsed, in the schema of the original's files."""
        rng = random.Random(seed)
        return cls(products_from(products, attributes, human or {}, rng), rng=rng)

    @classmethod
    def generate(cls, products: int = 1000, seed: int = 0) -> Catalog:
        """Make up a catalogue of so many products, the same for equal arguments on every machine."""
        from envs.webshop.catalog.generate import records  # its word lists are not needed by those who load real data

        items, attributes = records(products, seed)
        return cls.from_records(items, attributes, seed=seed)

    @cached_property
    def fingerprint(self) -> str:
        """Identify the content: SHA-256 over every product in order, drawn prices included."""
        digest = hashlib.sha256()
        for product in self.products.values():
            digest.update(json.dumps(astuple(product), ensure_ascii=False).encode())
            digest.update(b"\n")
        return digest.hexdigest()

    @cached_property
    def index(self) -> SearchIndex:
        """The search index, built at the first search."""
        return SearchIndex((asin, _document(product)) for asin, product in self.products.items())

    def search(self, query: str, limit: int = SEARCH_LIMIT) -> list[str]:
        """Return the asins that best match the words of a query, best first; the latest queries are cached."""
        return list(self._cached_search(query, limit))

    async def prefetch(self, query: str) -> None:
        """Have a search answered off the event loop where it would hold it up; the search itself then finds it cached.

        Cancellation leaves the search to end in its thread; its answer is cached all the same.
        """
        if len(self.products) >= LARGE:
            await asyncio.to_thread(self._cached_search, query, SEARCH_LIMIT)

    def listing(self, by: str, value: str) -> tuple[str, ...]:
        """Return all asins that have an "attribute", a "category" or a "query", in catalogue order."""
        return self._listings.get((by, value), ())

    def item(self, asin: str) -> Item:
        """Return the page texts and buttons of a product, made once and kept while in use."""
        return self._cached_item(asin)

    def goals(self, kind: GoalKind = "synthetic", split: Split = "train") -> tuple[Goal, ...]:
        """Return the goals of a split in shuffled order; see `splits.split_range` for its boundaries.

        Raises DataError when the catalogue has none, UsageError for an unknown kind or split.
        """
        if kind not in ("synthetic", "human"):
            raise UsageError(f"no goal kind {kind!r}; take 'synthetic' or 'human'")
        if split not in SPLITS:
            raise UsageError(f"no split {split!r}; take one of {', '.join(SPLITS)}")
        goals = self._cached_goals(kind)
        positions = split_range(split, len(goals))
        if not positions:
            raise DataError(f"the {split} split of only {len(goals)} {kind} goals is empty; load more products")
        return goals[positions.start : positions.stop]

    def _search(self, query: str, limit: int) -> tuple[str, ...]:
        return tuple(self.index.search(query, limit))

    def _item(self, asin: str) -> Item:
        return Item.of(self.products[asin])

    @cached_property
    def _listings(self) -> dict[tuple[str, str], tuple[str, ...]]:
        found: dict[tuple[str, str], dict[str, None]] = {}
        for asin, product in self.products.items():
            keys = [("category", product.category), ("query", product.query)]
            for key in keys + [("attribute", attribute) for attribute in product.attributes]:
                found.setdefault(key, {})[asin] = None
        return {key: tuple(asins) for key, asins in found.items()}

    def _goals(self, kind: GoalKind) -> tuple[Goal, ...]:
        rng = random.Random()
        rng.setstate(self._rng_state)
        return goals_of(self.products.values(), kind, rng)


def _document(product: Product) -> str:
    """Join what the original indexes: title, description, the first bullet only, options."""
    first = product.bullets[0] if product.bullets else ""
    return f"{product.title} {product.description} {first} {product.option_text}".lower()
