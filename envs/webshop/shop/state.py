"""Where an agent stands in the shop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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
    `subpage` is "Description", "Features", "Reviews" or "Attributes" on a SUBPAGE, and empty elsewhere. `opened` are
    the asins looked at since the start page. `session` names the episode in the original's URLs and is empty in the
    fixed form.
    """

    page: Page = Page.INDEX
    query: str = ""
    results: tuple[str, ...] = ()
    number: int = 1
    product: Product | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    subpage: str = ""
    opened: frozenset[str] = frozenset()
    session: str = ""

    @property
    def shown(self) -> tuple[str, ...]:
        """The asins on this page of results."""
        return self.results[(self.number - 1) * PAGE_SIZE : self.number * PAGE_SIZE]

    @property
    def has_next(self) -> bool:
        """Whether results follow this page."""
        return self.number * PAGE_SIZE < len(self.results)

    def start(self) -> ShopState:
        """Go back to the start page, which forgets all but the session."""
        return ShopState(session=self.session)

    def found(self, query: str, results: tuple[str, ...], number: int) -> ShopState:
        """Go to a page of results, which forgets the product and its options."""
        return ShopState(Page.RESULTS, query, results, number, opened=self.opened, session=self.session)

    def open(self, product: Product) -> ShopState:
        """Go to a product, none of its options chosen."""
        return replace(self, page=Page.ITEM, product=product, options={}, opened=self.opened | {product.asin})

    def choose(self, name: str, value: str) -> ShopState:
        """Choose an option of the product: one value for each name, the last one."""
        return replace(self, options={**self.options, name: value})

    def turn_to(self, page: Page, subpage: str = "") -> ShopState:
        """Go to another page of the same product."""
        return replace(self, page=page, subpage=subpage)
