"""Where an agent stands in the shop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from envs.webshop.catalog.product import Product

PAGE_SIZE = 10
"""Products on one page of results."""


class Page(Enum):
    """The pages of the shop."""

    INDEX = "index"
    RESULTS = "results"
    ITEM = "item"
    SUBPAGE = "subpage"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class ShopState:
    """Everything the next page depends on; each step replaces it.

    `query`, `results` (all asins found, best first) and `number` (the page of results, from 1) stay while products
    are looked at; `product` and `options` (name to chosen value) are those of the product looked at or bought.
    `subpage` is "Description", "Features" or "Reviews" on a SUBPAGE, and empty elsewhere.
    """

    page: Page = Page.INDEX
    query: str = ""
    results: tuple[str, ...] = ()
    number: int = 1
    product: Product | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    subpage: str = ""

    @property
    def shown(self) -> tuple[str, ...]:
        """The asins on this page of results."""
        return self.results[(self.number - 1) * PAGE_SIZE : self.number * PAGE_SIZE]

    @property
    def has_next(self) -> bool:
        """Whether results follow this page."""
        return self.number * PAGE_SIZE < len(self.results)
