"""The shop's pages as ReAct writes them: a button in brackets on a line of its own, options of a group on one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from envs.webshop.catalog.product import Product
from envs.webshop.shop.shop import TextShop
from envs.webshop.shop.state import Page, ShopState

PRODUCTS = 3
"""Products shown of a page of results."""

_TOP = ("[Back to Search]", "[< Prev]")


def write(shop: TextShop) -> str:
    """Write the page that the shop is on."""
    return "\n".join(_lines(shop))


def _lines(shop: TextShop) -> Sequence[str]:
    state = shop.state
    match state.page:
        case Page.INDEX:
            return ["WebShop", "Instruction:", shop.goal.instruction, "[Search]"]
        case Page.RESULTS:
            return _results(state, [shop.catalog.products[asin] for asin in state.shown[:PRODUCTS]])
        case Page.DONE:
            return ["Thank you for shopping with us!"]
    if state.product is None:
        raise ValueError(f"a page {state.page} without a product cannot be shown")
    if state.page is Page.SUBPAGE:
        return [*_TOP, *_texts(state.product, state.subpage)]
    return _item(state.product, state.options)


def _results(state: ShopState, products: Sequence[Product]) -> list[str]:
    lines = ["[Back to Search]", f"Page {state.number} (Total results: {len(state.results)})"]
    for product in products:
        lines += [f"[{product.asin}]", product.title, product.price_text]
    return lines


def _item(product: Product, chosen: Mapping[str, str]) -> list[str]:
    groups = [
        f"{name} " + "".join(f"[[{value}]]" if chosen.get(name) == value else f"[{value}]" for value in values)
        for name, values in product.options.items()
    ]
    texts = [product.title, f"Price: {product.price_text}", "Rating: N.A."]
    return [*_TOP, *groups, *texts, "[Description]", "[Features]", "[Reviews]", "[Buy Now]"]


def _texts(product: Product, subpage: str) -> list[str]:
    texts = {"Description": [product.description], "Features": list(product.bullets)}.get(subpage, [])
    return [text for text in texts if text]
