"""The catalogue: products, search and goals, loaded once and shared read-only by every shop."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import random
import threading
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, fields
from functools import cached_property, lru_cache
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any

from aes.errors import DataError, UsageError
from envs.webshop.catalog.goal_list import Goals
from envs.webshop.catalog.goals import GoalKind
from envs.webshop.catalog.item import Item
from envs.webshop.catalog.loader import read_folder
from envs.webshop.catalog.product import Product
from envs.webshop.catalog.records import products_from
from envs.webshop.catalog.splits import SPLITS, Split, split_range
from envs.webshop.catalog.wishes import wishes_of
from envs.webshop.search.index import SearchIndex

SEARCH_LIMIT = 50
"""How many products a keyword search returns."""

LARGE = 20_000
"""From so many products on a search may take milliseconds."""

_CACHED_QUERIES = 4096
_LONGEST_CACHED = 1000  # characters; no shopper's query is longer, and a stranger's must not fill the memory
_CACHED_LISTINGS = 16  # each may hold a large part of the catalogue
_CACHED_ITEMS = 16384


class Catalog:
    """Products with their search index and goals; nothing in it changes after construction.

    Every random draw (prices of products that have a range, then price ceilings of goals) comes from one generator
    seeded with `seed` and in the original's order, so one folder and one seed always give the same goals.

    Attributes:
        products: asin -> product, in catalogue order.
        skipped: why records were left out -> how many.

    Example:
        catalog = Catalog.load("data")
        found = catalog.search("red shoes")
        goals = catalog.goals("synthetic", "train")
    """

    def __init__(
        self,
        products: Iterable[Product],
        *,
        rng: random.Random,
        skipped: Counter[str] | None = None,
        index_cache: str | Path | None = None,
    ) -> None:
        self.products: Mapping[str, Product] = MappingProxyType({product.asin: product for product in products})
        self.skipped: Mapping[str, int] = MappingProxyType(dict(skipped or ()))
        if not self.products:
            raise DataError(f"the catalogue is empty{_why(self.skipped)}; check the product file")
        # Both kinds of goals draw their ceilings from where the prices have left the generator.
        self._rng_state = rng.getstate()
        self._index_cache = Path(index_cache).expanduser() if index_cache else None
        self._building = threading.RLock()
        self._cached_search = lru_cache(_CACHED_QUERIES)(self._search)
        self._cached_listing = lru_cache(_CACHED_LISTINGS)(self._listing)
        self._cached_goals = lru_cache(None)(self._goals)
        self._cached_item = lru_cache(_CACHED_ITEMS)(self._item)

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        seed: int = 0,
        limit: int | None = None,
        index_cache: str | Path | None = None,
    ) -> Catalog:
        """Load the original's JSON files from a folder; see `loader.read_folder` for the names looked for.

        `limit` keeps the first so many records of the product file, the rest of which is not even read. With
        `index_cache`, the search index of a large catalogue (20,000 products) is kept in that folder, under a hash of
        its content, and memory-mapped from there. Raises DataError naming file and record.
        """
        if limit is not None and limit < 1:
            raise UsageError(f"limit {limit}: give how many product records to keep, 1 or more")
        files = read_folder(folder)
        rng, skipped = random.Random(seed), Counter[str]()
        items = itertools.islice(files.products, limit)
        products = list(products_from(items, files.attributes, files.human, rng, skipped, files.names))
        known = {product.asin for product in products}
        for name, entries in zip(files.names[1:], (files.attributes, files.human), strict=True):
            if unknown := sum(asin not in known for asin in entries):
                skipped[f"entry of {Path(name).name} for an unknown product"] = unknown
        return cls(products, rng=rng, skipped=skipped, index_cache=index_cache)

    @classmethod
    def from_records(
        cls,
        products: Iterable[Any],
        attributes: Mapping[str, Any],
        human: Mapping[str, Any] | None = None,
        *,
        seed: int = 0,
    ) -> Catalog:
        """Build a catalogue from JSON objects already parsed, in the schema of the original's files."""
        rng, skipped = random.Random(seed), Counter[str]()
        return cls(products_from(products, attributes, human or {}, rng, skipped), rng=rng, skipped=skipped)

    @classmethod
    def generate(cls, products: int = 1000, seed: int = 0, *, index_cache: str | Path | None = None) -> Catalog:
        """Make up a catalogue of so many products, the same for equal arguments on every machine.

        Raises ConfigError for a number that cannot be made.
        """
        from envs.webshop.catalog.generate import records  # its word lists are not needed by those who load real data

        attributes: dict[str, Any] = {}

        def items() -> Iterator[Any]:
            for item, entry in records(products, seed):
                attributes.clear()  # only the entry of the item at hand is ever looked up
                attributes[item["asin"]] = entry
                yield item

        rng = random.Random(seed)
        return cls(products_from(items(), attributes, {}, rng, Counter()), rng=rng, index_cache=index_cache)

    def __deepcopy__(self, memo: object) -> Catalog:
        """Nothing in it changes, so whoever copies what holds one shares it."""
        return self

    @cached_property
    def fingerprint(self) -> str:
        """Identify the content: SHA-256 over every product in order, drawn prices included."""
        digest = hashlib.sha256()
        for product in self.products.values():
            human = [astuple(asked) for asked in product.human]
            values = [human if name == "human" else value for name, value in zip(_NAMES, _VALUES(product), strict=True)]
            digest.update(json.dumps(values, ensure_ascii=False).encode(errors="surrogatepass"))
            digest.update(b"\n")
        return digest.hexdigest()

    @property
    def index(self) -> SearchIndex:
        """The search index, built at the first search. Raises DataError when the one kept on disk cannot be read."""
        with self._building:  # threads that search at once must not build it twice
            return self._built_index

    @cached_property
    def _built_index(self) -> SearchIndex:
        if self._index_cache is None or len(self.products) < LARGE:
            return SearchIndex(self._documents())
        folder = self._index_cache / self._documents_digest()
        if not folder.is_dir():
            SearchIndex(self._documents()).save(folder)
        return SearchIndex.open(folder)

    def _documents(self) -> Iterator[tuple[str, str]]:
        return ((asin, _document(product)) for asin, product in self.products.items())

    def _documents_digest(self) -> str:
        digest = hashlib.sha256()
        for asin, text in self._documents():
            digest.update(f"{asin}\0{text}\0".encode(errors="surrogatepass"))
        return digest.hexdigest()[:16]

    def search(self, query: str, limit: int = SEARCH_LIMIT) -> list[str]:
        """Return the asins that best match the words of a query, best first; the latest queries are cached."""
        answer = self._cached_search if len(query) <= _LONGEST_CACHED else self._search
        return list(answer(query, limit))

    async def prefetch(self, query: str) -> None:
        """Have a search answered off the event loop where it would hold it up; the search itself then finds it cached.

        Cancellation leaves the search to end in its thread; its answer is cached all the same.
        """
        if len(self.products) >= LARGE:
            await asyncio.to_thread(self._look_ahead, query)

    def listing(self, by: str, value: str) -> tuple[str, ...]:
        """Return all asins that have an "attribute", a "category" or a "query", in catalogue order."""
        return self._cached_listing(by, value)

    def item(self, asin: str) -> Item:
        """Return the page texts and buttons of a product, made once and kept while in use."""
        return self._cached_item(asin)

    def goals(self, kind: GoalKind = "synthetic", split: Split = "train") -> Goals:
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

    def _look_ahead(self, query: str) -> None:
        if query.startswith("<"):
            _ = self._listings
        else:
            self.search(query)

    def _listing(self, by: str, value: str) -> tuple[str, ...]:
        return tuple(self._asins[number] for number in self._listings.get((by, value), ()))

    def _search(self, query: str, limit: int) -> tuple[str, ...]:
        return tuple(self.index.search(query, limit))

    def _item(self, asin: str) -> Item:
        return Item.of(self.products[asin])

    @cached_property
    def _asins(self) -> tuple[str, ...]:
        return tuple(self.products)

    @cached_property
    def _listings(self) -> dict[tuple[str, str], array[int]]:
        """Places in the catalogue by what they share: numbers, as there are many for every product."""
        found: dict[tuple[str, str], array[int]] = {}
        for number, product in enumerate(self.products.values()):
            keys = [("category", product.category), ("query", product.query)]
            for key in keys + [("attribute", attribute) for attribute in dict.fromkeys(product.attributes)]:
                found.setdefault(key, array("i")).append(number)
        return found

    def _goals(self, kind: GoalKind) -> Goals:
        rng = random.Random()
        rng.setstate(self._rng_state)
        return Goals.of(list(wishes_of(self.products.values(), kind, rng)), kind)


_NAMES = tuple(field.name for field in fields(Product))
_VALUES = attrgetter(*_NAMES)


def _why(skipped: Mapping[str, int]) -> str:
    return "".join(f", {count} x {reason}" for reason, count in skipped.items())


def _document(product: Product) -> str:
    """Join what the original indexes: title, description, the first bullet only, options."""
    first = product.bullets[0] if product.bullets else ""
    return f"{product.title} {product.description} {first} {product.option_text}".lower()
