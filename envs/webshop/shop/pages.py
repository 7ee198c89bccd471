"""What the shop's pages say and which buttons they have.

A page is a list of texts joined by " [SEP] ", the original's `text` observation. What depends on the product only is
made once per product (`Item`) and shared by all episodes through the catalogue.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from envs.webshop.catalog.item import SEPARATOR, Item, join
from envs.webshop.shop.state import Page, ShopState


def clickables(state: ShopState, item: Item | None, compat: bool) -> tuple[str, ...]:
    """Return the buttons of a page in their order, in lower case.

    In the fixed form there is no button that does nothing: no "next >" past the last page, no "search".
    """
    match state.page:
        case Page.INDEX:
            return ("search",) if compat else ()
        case Page.RESULTS:
            back = ("< prev",) if state.number > 1 else ()
            forth = ("next >",) if compat or state.has_next else ()
            return ("back to search", *back, *forth, *(asin.lower() for asin in state.shown))
        case Page.ITEM:
            return item.buttons if item else ()
        case Page.SUBPAGE:
            return ("back to search", "< prev")
        case Page.DONE:
            return ()


def render(state: ShopState, instruction: str, item_of: Callable[[str], Item], compat: bool, reward: float) -> str:
    """Write the observation of a page; `reward` is shown by the original's last page and nowhere else."""
    if state.page is Page.DONE:
        return _done(state, reward) if compat else _thanks(state)
    if state.page is Page.INDEX:
        return join(("WebShop", "Instruction:", instruction, "Search"))
    return SEPARATOR.join((join(("Instruction:", instruction)), *_body(state, item_of, compat)))


def _body(state: ShopState, item_of: Callable[[str], Item], compat: bool) -> Iterable[str]:
    if state.product is None:
        texts = ["Back to Search", f"Page {state.number} (Total results: {len(state.results)})"]
        texts += ["< Prev"] if state.number > 1 else []
        texts += ["Next >"] if compat or state.has_next else []
        return [*texts, *(item_of(asin).listing for asin in state.shown)]
    item = item_of(state.product.asin)
    if state.page is Page.SUBPAGE:
        return [item.subpages[state.subpage]]
    if compat or not state.options:
        return [item.head, item.tail]
    chosen = ", ".join(f"{name}: {value}" for name, value in state.options.items())
    return [item.head, f"Selected: {chosen}", item.tail]


def _thanks(state: ShopState) -> str:
    asin = state.product.asin if state.product else ""
    chosen = ", ".join(f"{name}: {value}" for name, value in state.options.items())
    return join(("Thank you for shopping with us!", f"Purchased: {asin}", f"Selected: {chosen}" if chosen else ""))


def _done(state: ShopState, reward: float) -> str:
    """Write the original's last page, blanks, spelling and shown reward included."""
    # As Flask writes JSON into HTML: sorted keys, and these four characters escaped.
    options = json.dumps(dict(state.options), sort_keys=True)
    for char in "<>&'":
        options = options.replace(char, f"\\u{ord(char):04x}")
    purchased = ("asin", state.product.asin if state.product else "", "options", options)
    empty = [text for name in ("attrs", "category", "query", "product category") for text in (name, "None")]
    target = ("asin", "options", "attrs", "price upper", "instuction text", "category", "product category", "query")
    return join(
        (
            *("Thank you for shopping with us!", "Your code:", "None", "(Paste it in your MTurk interface.)"),
            *("Purchased", *purchased, *empty, "Target", *target, "Goal", "None"),
            *("Reward", "Your score (min 0.0, max 1.0)", str(reward), "Reward Details", "None"),
        )
    )
