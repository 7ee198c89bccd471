"""What an agent reads: one short page per turn, ending in the actions that are legal there.

Conversations are only ever appended to, so nothing is said twice: the goal stands on the first page alone, and after
an option has been chosen only the choices are told. All lengths are bounded: the best few results, the first so many
option values, texts cut with an ellipsis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from envs.webshop.catalog.goals import Goal
from envs.webshop.catalog.product import Product
from envs.webshop.shop.state import Page, ShopState

START_ACTIONS = "\nActions: search[<words>]"
RESULT_ACTIONS = f"{START_ACTIONS}, click[<product id>], click[next >], click[back to search]"
LAST_RESULT_ACTIONS = f"{START_ACTIONS}, click[<product id>], click[back to search]"
ITEM_ACTIONS = (
    f"{START_ACTIONS}, click[<option value>], click[buy now], click[description], click[features], click[reviews],"
    " click[< prev], click[back to search]"
)
SUBPAGE_ACTIONS = f"{START_ACTIONS}, click[< prev], click[back to search]"


@dataclass(frozen=True, slots=True)
class View:
    """How much of a page is shown: results, option values per group, and characters of titles and texts."""

    results: int = 5
    values: int = 30
    title: int = 120
    text: int = 800

    def first(self, goal: Goal) -> str:
        """Show the goal and the search bar."""
        return f"Goal: {goal.instruction}{START_ACTIONS}"

    def next(self, before: ShopState, state: ShopState, product_of: Callable[[str], Product]) -> str:
        """Show the page that an action has led to from the page before it."""
        match state.page:
            case Page.INDEX:
                return f"Search page{START_ACTIONS}"
            case Page.RESULTS:
                return self._results(state, [product_of(asin) for asin in state.shown[: self.results]])
            case Page.DONE:
                return "Bought. Thank you for shopping with us!"
        if state.product is None:
            raise ValueError(f"a page {state.page} without a product cannot be shown")
        if state.page is Page.SUBPAGE:
            return self._subpage(state.product, state.subpage)
        if before.page is Page.ITEM:
            return _choices(state.options) + ITEM_ACTIONS
        return self._item(state.product, state.options)

    def _results(self, state: ShopState, products: Sequence[Product]) -> str:
        """List the first products of a page, one a line: id, title, price."""
        head = f"Page {state.number} of {len(state.results)} results" + ("" if products else ": nothing here")
        lines = [
            f"\n- {product.asin} | {cut(product.title, self.title)} | {product.price_text}" for product in products
        ]
        actions = RESULT_ACTIONS if state.has_next else LAST_RESULT_ACTIONS
        if state.number > 1:
            actions = actions.replace("click[back", "click[< prev], click[back")
        return head + "".join(lines) + actions

    def _item(self, product: Product, chosen: Mapping[str, str]) -> str:
        groups = [f"\n{name}: {self._values(values)}" for name, values in product.options.items()]
        head = f"{cut(product.title, self.title)} | {product.price_text}"
        return head + "".join(groups) + (f"\n{_choices(chosen)}" if chosen else "") + ITEM_ACTIONS

    def _values(self, values: Sequence[str]) -> str:
        more = len(values) - self.values
        return ", ".join(values[: self.values]) + (f" and {more} more" if more > 0 else "")

    def _subpage(self, product: Product, name: str) -> str:
        bullets: Iterable[str] = [product.bullets] if isinstance(product.bullets, str) else product.bullets
        lines = {"Description": [product.description], "Features": bullets}.get(name, [])
        text = cut("\n".join(line for line in lines if line), self.text)
        return f"{name}: {text or 'nothing here'}{SUBPAGE_ACTIONS}"


def cut(text: str, characters: int) -> str:
    """Shorten a text to at most so many characters, the last of them an ellipsis."""
    return text if len(text) <= characters else text[: characters - 1].rstrip() + "…"


def _choices(chosen: Mapping[str, str]) -> str:
    return "Chosen: " + ", ".join(f"{name}: {value}" for name, value in chosen.items())
