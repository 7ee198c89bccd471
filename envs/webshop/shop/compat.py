"""The rules of the original shop, with the quirks that show; each override here is one of them.

Its exceptions are no behaviour: a listing by attribute works as on its web site, and a random sample of a catalogue
with fewer than 50 products holds them all.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from envs.webshop.catalog.elements import RICH, Element, Kind, visible
from envs.webshop.catalog.item import Item, option_elements
from envs.webshop.shop.actions import Action, parse_strictly
from envs.webshop.shop.rules import Rules
from envs.webshop.shop.state import Page, ShopState

_BASE = "http://127.0.0.1:3000"


def url(state: ShopState) -> str:
    """Return the address of a page: the original's `url` observation, which it also keeps state in."""
    asin = state.product.asin if state.product else ""
    options, words = dict(state.options), state.query.replace(" ", "+")
    page = (state.session, asin, words, str(state.number))
    match state.page:
        case Page.RESULTS:
            return "/".join((_BASE, "search_results", state.session, words, str(state.number)))
        case Page.ITEM:
            return "/".join((_BASE, "item_page", *page, json.dumps(options)))
        case Page.SUBPAGE:
            return "/".join((_BASE, "item_sub_page", *page, state.subpage, repr(options)))
        case Page.DONE:
            return "/".join((_BASE, "done", state.session, asin, repr(options)))
    return f"{_BASE}/{state.session}"


class OriginalRules(Rules):
    """How the original answers, to the letter."""

    def parse(self, text: str) -> Action | None:
        """Read an action as the original's pattern does: brackets in it, upper-case verbs and spaces break it."""
        return parse_strictly(text)

    def may_search(self, state: ShopState) -> bool:
        """Offer a search where there is a search bar; it is taken anywhere, even after the end."""
        return state.page is Page.INDEX

    def clickables(self, state: ShopState) -> tuple[str, ...]:
        """Return the buttons; on the start page there is one that does nothing when clicked."""
        return ("search",) if state.page is Page.INDEX else super().clickables(state)

    def write(self, state: ShopState, instruction: str, reward: float) -> str:
        """Write the page down; in rich form the clicked options come first, the last one of the page foremost."""
        page = super().write(state, instruction, reward)
        clicked = self._clicked(state) if self.form is RICH and state.page is Page.ITEM else None
        if clicked is None or state.product is None:
            return page
        options = visible(option_elements(state.product, clicked))
        told = [f"You have clicked {text}.\n" for text, kind in options if kind is Kind.CLICKED_OPTION]
        return "".join((*reversed(told), page))

    def _has_next(self, state: ShopState) -> bool:
        """Offer "next >" on every page of results, past the last one too."""
        return True

    def _label(self, asin: str) -> str:
        return asin.lower()

    def _options(self, item: Item) -> Iterable[str]:
        return item.choices

    def _choice(self, item: Item, button: str) -> tuple[str, str] | None:
        """Find the option of exactly this text; it hides a button called the same."""
        return item.choices.get(button)

    def _turn(self, state: ShopState, number: int) -> ShopState:
        """Search anew for every page, which shows in random samples."""
        return state.found(state.query, self._results(state.query), number)

    def _back(self, state: ShopState) -> ShopState:
        """Follow "< prev" from the page that the address is taken for, by the first page name found anywhere in it."""
        address = url(state)
        if "search_results" in address:
            return self._turn(state, state.number - 1)
        if "item_page" in address:
            return self._turn(state, state.number)
        return state.turn_to(Page.ITEM)

    def _clicked(self, state: ShopState) -> Callable[[str, str], bool] | None:
        """Take for clicked what stands in quotes in the address: never a value that JSON escapes, but any keyword."""
        address = url(state)
        return (lambda name, value: f'"{value}"' in address) if '"' in address else None

    def _selected(self, state: ShopState) -> tuple[str, ...]:
        """Hide what is chosen."""
        return ()

    def _last_page(self, state: ShopState, reward: float) -> Iterable[Element]:
        """Show the original's last page: blanks, spelling and the reward included."""
        # As Flask writes JSON into HTML: sorted keys, and these four characters escaped.
        options = json.dumps(dict(state.options), sort_keys=True)
        for char in "<>&'":
            options = options.replace(char, f"\\u{ord(char):04x}")
        purchased = ("asin", state.product.asin if state.product else "", "options", options)
        empty = [text for name in ("attrs", "category", "query", "product category") for text in (name, "None")]
        target = ("asin", "options", "attrs", "price upper", "instuction text", "category", "product category", "query")
        texts = (
            *("Thank you for shopping with us!", "Your code: ", "None", " (Paste it in your MTurk interface.)"),
            *("Purchased", *purchased, *empty, "Target", *target, "Goal ", "None"),
            *("Reward", "Your score (min 0.0, max 1.0)", str(reward), "Reward Details ", "None"),
        )
        return map(Element, texts)
