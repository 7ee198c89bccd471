"""From the button a person has pressed to the words an agent would say."""

from __future__ import annotations

from collections.abc import Mapping

from envs.webshop.catalog.item import plain
from envs.webshop.shop.shop import TextShop


def action_of(form: Mapping[str, str], shop: TextShop) -> str | None:
    """Read an action off a form: `search`, `click`, or by place on the page `product` and `option` ("group.value").

    Products and options go by their place because a browser does not send every text back as it was. None when the
    form has none of these, or the page no such place.
    """
    if "search" in form:
        return f"search[{plain(form['search'])}]"
    if "product" in form:
        number = _number(form["product"])
        shown = shop.state.shown
        return f"click[{shown[number].lower()}]" if number is not None and number < len(shown) else None
    button = _option(form["option"], shop) if "option" in form else plain(form.get("click", ""))
    return f"click[{button}]" if button else None


def _option(place: str, shop: TextShop) -> str | None:
    product = shop.state.product
    group, value = (_number(part) for part in place.partition(".")[::2])
    if product is None or group is None or value is None or group >= len(product.options):
        return None
    name, values = list(product.options.items())[group]
    if value >= len(values):
        return None
    if shop.compat:
        return values[value]
    # A bare value may stand in two groups; with its name it is unique.
    spoken = shop.catalog.item(product.asin).spoken
    words = (plain(f"{name}: {values[value]}"), plain(values[value]))
    return next((text for text in words if spoken.get(text) == (name, values[value])), None)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else None
