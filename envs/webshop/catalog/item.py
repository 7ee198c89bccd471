"""What the shop's pages say of one product, written once and shared by all episodes through the catalogue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from envs.webshop.catalog.product import Product

SEPARATOR = " [SEP] "
SUBPAGES = ("Description", "Features", "Reviews")

_ITEM_BUTTONS = ("back to search", "< prev", *(name.lower() for name in SUBPAGES), "buy now")


@dataclass(frozen=True, slots=True)
class Item:
    """The texts and buttons of one product.

    `listing` is its entry on a page of results; `head` and `tail` are the item page up to and after the options;
    `choices` maps the text of an option button to (option name, value), and `spoken` does so for the ways an agent may
    put it: in `plain` form, and as "name: value" where a bare value is not unique. `buttons` are the item page's.
    """

    listing: str
    head: str
    tail: str
    subpages: Mapping[str, str]
    choices: Mapping[str, tuple[str, str]]
    spoken: Mapping[str, tuple[str, str]]
    buttons: tuple[str, ...]

    @classmethod
    def of(cls, product: Product) -> Item:
        """Write the pages of a product."""
        head = [text for name, values in product.options.items() for text in (name, *values)]
        # A value that two groups share is one button, and the later group gets it.
        choices = {value: (name, value) for name, values in product.options.items() for value in values}
        tail = [product.title, f"Price: {product.price_text}", "Rating: N.A.", *SUBPAGES, "Buy Now"]
        subpages = {
            "Description": join(("Back to Search", "< Prev", product.description)),
            "Features": join(("Back to Search", "< Prev", *(f" {bullet}" for bullet in product.bullets))),
            "Reviews": join(("Back to Search", "< Prev")),
        }
        return cls(
            listing=join((product.asin, product.title, product.price_text)),
            head=join(("Back to Search", "< Prev", *head)),
            tail=join(tail),
            subpages=subpages,
            choices=choices,
            spoken=_spoken(product, choices),
            buttons=tuple(dict.fromkeys((*_ITEM_BUTTONS, *choices))),
        )


def _spoken(product: Product, choices: Mapping[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    pairs = [(name, value) for name, values in product.options.items() for value in values]
    full = {plain(f"{name}: {value}"): (name, value) for name, value in pairs}
    return full | {plain(value): choice for value, choice in choices.items()} | dict(choices)


def plain(text: str) -> str:
    """Lower the case and collapse the spaces of a button's text, so that it is found however it is typed."""
    return " ".join(text.lower().split())


def join(texts: Iterable[str]) -> str:
    """Join texts as they are found in the original's HTML: stripped, and blank lines are no text."""
    return SEPARATOR.join(text.strip() for text in texts if text and not (text.isspace() and "\n" in text))
