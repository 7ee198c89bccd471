"""What a person can type on a page of the shop, and what it means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from cli.view.safe_text import safe
from envs.webshop.catalog.item import ITEM_BUTTONS, plain
from envs.webshop.catalog.product import Product
from envs.webshop.shop.actions import parse
from envs.webshop.shop.shop import TextShop
from envs.webshop.shop.state import Page

LONGEST_LINE = 1000
"""Characters in a line of input at most."""

_KEYS: dict[Page, dict[str, tuple[str, str]]] = {
    Page.INDEX: {},
    Page.RESULTS: {
        "n": ("next >", "next page"),
        "p": ("< prev", "page before"),
        "b": ("back to search", "back to search"),
    },
    Page.ITEM: {
        "y": ("buy now", "buy now"),
        "d": ("description", "description"),
        "f": ("features", "features"),
        "r": ("reviews", "reviews"),
        "p": ("< prev", "results"),
        "b": ("back to search", "back to search"),
    },
    Page.SUBPAGE: {"p": ("< prev", "product"), "b": ("back to search", "back to search")},
    Page.DONE: {},
}
"""By page: the letter of a button, the button, and what to call it."""

_LETTERS = frozenset(letter for keys in _KEYS.values() for letter in keys)


@dataclass(frozen=True, slots=True)
class Act:
    """Take the first of these actions that the page allows."""

    actions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Say:
    """Tell the user why nothing happens."""

    words: str


Command = Act | Say | Literal["look", "help", "next goal", "quit"]


@dataclass(frozen=True, slots=True)
class Menu:
    """What a page offers: buttons by letter with what to call them, and what numbers click, counted from 1."""

    page: Page
    keys: Mapping[str, tuple[str, str]]
    numbered: tuple[str, ...]

    @classmethod
    def of(cls, shop: TextShop) -> Menu:
        """Read the menu off a shop's page."""
        state, allowed = shop.state, shop.available_actions.clickables
        keys = {letter: (button, label) for letter, (button, label) in _KEYS[state.page].items() if button in allowed}
        if state.page is Page.RESULTS:
            return cls(state.page, keys, tuple(f"click[{plain(asin)}]" for asin in state.shown))
        if state.page is Page.ITEM and state.product:
            return cls(state.page, keys, tuple(_choices(state.product)))
        return cls(state.page, keys, ())


def command(line: str, menu: Menu) -> Command:
    """Understand a line typed on a page."""
    text = safe(line).strip()
    word = text.lower()
    if len(line) > LONGEST_LINE:
        return Say(f"that line is too long; write at most {LONGEST_LINE:,} characters")
    match word:
        case "":
            return "look"
        case "q":
            return "quit"
        case "?":
            return "help"
    if menu.page is Page.DONE:
        return "next goal" if word == "n" else Say("this goal is done; n for the next one, q to quit")
    if word in _LETTERS:
        return Act((f"click[{menu.keys[word][0]}]",)) if word in menu.keys else Say(f"{word} does nothing on this page")
    if text.isdecimal():
        return _numbered(text, menu)
    if parse(text):
        return Act((text,))
    return Act((f"click[{text}]", f"search[{text}]"))


def _numbered(text: str, menu: Menu) -> Command:
    # Python refuses to read numbers of many thousand digits.
    number = int(text) if len(text) < 7 else 0
    if 1 <= number <= len(menu.numbered):
        return Act((menu.numbered[number - 1],))
    there = f"there are 1 to {len(menu.numbered)}" if menu.numbered else "nothing is numbered"
    return Say(f"no number {text[:20]} on this page, {there}; to search for a number, write search[{text[:20]}]")


def _choices(product: Product) -> list[str]:
    """Write the click on each option value: its text, with its group where the text alone means something else."""
    pairs = [(name, plain(value)) for name, values in product.options.items() for value in dict.fromkeys(values)]
    times = Counter(value for _, value in pairs)
    return [
        f"click[{value}]" if value and times[value] == 1 and value not in ITEM_BUTTONS else f"click[{name}: {value}]"
        for name, value in pairs
    ]
