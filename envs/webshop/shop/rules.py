"""The rules of the shop in its fixed form: which buttons a page has, where they lead, and what the page says.

Its pages are the original's with nothing dead, hidden or given away; `compat.py` has the original's own.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from functools import lru_cache

from envs.webshop.catalog.catalog import SEARCH_LIMIT, Catalog
from envs.webshop.catalog.elements import RICH, Element, Form, Kind
from envs.webshop.catalog.item import SUBPAGES, TOP, Item, option_elements, plain
from envs.webshop.catalog.product import Product
from envs.webshop.shop.actions import Action, parse
from envs.webshop.shop.state import Page, ShopState

_LISTED_BY = {"<a>": "attribute", "<c>": "category", "<q>": "query"}


class Rules:
    """How the shop answers; holds no episode. `rng` draws random samples of products."""

    def __init__(self, catalog: Catalog, form: Form, show_attrs: bool, rng: random.Random) -> None:
        self.catalog = catalog
        self.form = form
        self.rng = rng
        subpages = SUBPAGES if show_attrs else SUBPAGES[:-1]
        self._subpages = {name.lower(): name for name in subpages}
        self._item_buttons = ("back to search", "< prev", *self._subpages, "buy now")
        end = (*(Element(name, Kind.BUTTON) for name in subpages[3:]), Element("Buy Now", Kind.BUTTON))
        self._end_of_item = form.write(end)
        self._head = lru_cache(1)(lambda wish: form.write((Element("Instruction:"), Element(wish))))  # once an episode
        self._top = {name: form.one(Element(name, Kind.BUTTON)) for name in ("Back to Search", "< Prev", "Next >")}

    def parse(self, text: str) -> Action | None:
        """Read an action out of a text."""
        return parse(text)

    def may_search(self, state: ShopState) -> bool:
        """Tell whether a search is offered here."""
        return state.page is not Page.DONE

    def clickables(self, state: ShopState) -> tuple[str, ...]:
        """Return the buttons of a page in their order, in lower case; every one of them does something."""
        match state.page:
            case Page.RESULTS:
                back = ("< prev",) if state.number > 1 else ()
                forth = ("next >",) if self._has_next(state) else ()
                return _distinct("back to search", *back, *forth, *map(self._label, state.shown))
            case Page.ITEM if state.product:
                return _distinct(*self._item_buttons, *self._options(self.catalog.item(state.product.asin)))
            case Page.SUBPAGE:
                return ("back to search", "< prev")
        return ()

    def search(self, state: ShopState, query: str) -> ShopState:
        """Show the first page of results: of keywords, of a sample (<r>), or of a listing (<a>, <c>, <q>)."""
        return state.found(query, self._results(query), 1)

    def click(self, state: ShopState, button: str) -> ShopState | None:
        """Follow a button; None when the page has no such button."""
        if state.page is Page.RESULTS:
            return self._from_results(state, button)
        if state.page is Page.ITEM and state.product:
            return self._from_item(state, self.catalog.item(state.product.asin), button)
        if state.page is Page.SUBPAGE:
            return self._from_page_top(state, button)
        return None

    def write(self, state: ShopState, instruction: str, reward: float) -> str:
        """Write the page down; the fixed form never shows the reward."""
        if state.page is Page.INDEX:
            wish = (Element("Instruction: "), Element(instruction))
            return self.form.write((Element("WebShop"), *wish, Element("Search", Kind.BUTTON)))
        if state.page is Page.DONE:
            return self.form.write(self._last_page(state, reward))
        body = self._results_page(state) if state.product is None else self._product_page(state, state.product)
        return self.form.between.join((self._head(instruction), *body))

    # What the original does in another way.

    def _has_next(self, state: ShopState) -> bool:
        return state.has_next

    def _label(self, asin: str) -> str:
        return plain(asin)

    def _options(self, item: Item) -> Iterable[str]:
        """The option buttons of an item page."""
        return item.labels

    def _choice(self, item: Item, button: str) -> tuple[str, str] | None:
        """Find the option that a button stands for; one called like another button is known by its full name."""
        return None if button in self._item_buttons else item.spoken.get(button)

    def _turn(self, state: ShopState, number: int) -> ShopState:
        """Show another page of the same results."""
        return state.found(state.query, state.results, number)

    def _back(self, state: ShopState) -> ShopState:
        """Follow "< prev" from a product to the results, and from a sub page to its product."""
        if state.page is Page.SUBPAGE:
            return state.turn_to(Page.ITEM)
        return self._turn(state, state.number)

    def _clicked(self, state: ShopState) -> Callable[[str, str], bool] | None:
        """Tell which options are shown as clicked; None when none is."""
        return (lambda name, value: state.options.get(name) == value) if state.options else None

    def _selected(self, state: ShopState) -> tuple[str, ...]:
        """Say what is chosen, between the options and the title."""
        chosen = ", ".join(f"{name}: {value}" for name, value in state.options.items())
        return (self.form.write((Element(f"Selected: {chosen}"),)),) if chosen else ()

    def _last_page(self, state: ShopState, reward: float) -> Iterable[Element]:
        asin = state.product.asin if state.product else ""
        chosen = ", ".join(f"{name}: {value}" for name, value in state.options.items())
        texts = ("Thank you for shopping with us!", f"Purchased: {asin}", f"Selected: {chosen}" if chosen else "")
        return map(Element, texts)

    # What both have in common.

    def _from_results(self, state: ShopState, button: str) -> ShopState | None:
        if button == "next >" and self._has_next(state):
            return self._turn(state, state.number + 1)
        if button == "< prev" and state.number > 1:
            return self._turn(state, state.number - 1)
        if button == "back to search":
            return state.start()
        asin = next((asin for asin in state.shown if self._label(asin) == button), None)
        return state.open(self.catalog.products[asin]) if asin is not None else None

    def _from_item(self, state: ShopState, item: Item, button: str) -> ShopState | None:
        if choice := self._choice(item, button):
            return state.choose(*choice)
        if button == "buy now":
            return state.turn_to(Page.DONE)
        if button in self._subpages:
            return state.turn_to(Page.SUBPAGE, self._subpages[button])
        return self._from_page_top(state, button)

    def _from_page_top(self, state: ShopState, button: str) -> ShopState | None:
        if button == "back to search":
            return state.start()
        return self._back(state) if button == "< prev" else None

    def _results(self, query: str) -> tuple[str, ...]:
        key, _, rest = query.partition(" ")
        if key == "<r>":
            asins = list(self.catalog.products)
            return tuple(self.rng.sample(asins, min(SEARCH_LIMIT, len(asins))))
        if key in _LISTED_BY:
            value = rest.partition(" ")[0] if key == "<c>" else rest.strip()
            return self.catalog.listing(_LISTED_BY[key], value)
        return tuple(self.catalog.search(query))

    def _results_page(self, state: ShopState) -> Iterable[str]:
        yield self._top["Back to Search"]
        yield self.form.one(Element(f"Page {state.number} (Total results: {len(state.results)})"))
        if state.number > 1:
            yield self._top["< Prev"]
        if self._has_next(state):
            yield self._top["Next >"]
        for asin in state.shown:
            written = self.catalog.item(asin).written(self.form)
            yield written.opened if asin in state.opened else written.listing

    def _product_page(self, state: ShopState, product: Product) -> Iterable[str]:
        written = self.catalog.item(product.asin).written(self.form)
        if state.page is Page.SUBPAGE:
            return (written.subpages[state.subpage],)
        clicked = self._clicked(state) if self.form is RICH else None
        head = self.form.write((*TOP, *option_elements(product, clicked))) if clicked else written.head
        return (head, *self._selected(state), written.tail, self._end_of_item)


def _distinct(*buttons: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(buttons))
