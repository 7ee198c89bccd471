"""What the shop's pages say of one product, written once and shared by all episodes through the catalogue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from envs.webshop.catalog.elements import Element, Form, Kind
from envs.webshop.catalog.product import Product

SUBPAGES = ("Description", "Features", "Reviews", "Attributes")
"""The pages of a product; the last one is there only where the shop shows attributes."""

ITEM_BUTTONS = ("back to search", "< prev", *(name.lower() for name in SUBPAGES), "buy now")
"""What an item page may let one click besides options."""

TOP = (Element("Back to Search", Kind.BUTTON), Element("< Prev", Kind.BUTTON))
"""How item pages and sub pages begin, after the instruction."""


@dataclass(frozen=True, slots=True)
class Written:
    """The texts of one product in one form.

    `listing` is its entry on a page of results and `opened` the same once the product has been looked at; `head` is
    the item page down to its options, none of them clicked, and `tail` goes on from there to the button "Reviews";
    `subpages` are whole but for the instruction.
    """

    listing: str
    opened: str
    head: str
    tail: str
    subpages: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Item:
    """The option buttons and the texts of one product.

    `choices` maps the text of an option button to (option name, value); a value that two groups share is one button,
    and the later group gets it. That is the original's form. The fixed form offers `labels`, in `plain` form: the
    value alone, or "name: value" where the value alone would not do. `spoken` maps whatever an agent may say for an
    option, in `plain` form, to (option name, value).
    """

    product: Product
    choices: Mapping[str, tuple[str, str]]
    labels: tuple[str, ...]
    spoken: Mapping[str, tuple[str, str]]
    _written: dict[Form, Written] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def of(cls, product: Product) -> Item:
        """Name the options of a product."""
        pairs = [(name, value) for name, values in product.options.items() for value in dict.fromkeys(values)]
        short, full = [plain(value) for _, value in pairs], [plain(f"{name}: {value}") for name, value in pairs]
        times = Counter(short)
        labels = [
            brief if brief and times[brief] == 1 and brief not in ITEM_BUTTONS else whole
            for brief, whole in zip(short, full, strict=True)
        ]
        spoken = dict(zip(full, pairs, strict=True)) | dict(zip(short, pairs, strict=True))
        return cls(product, {pair[1]: pair for pair in pairs}, tuple(dict.fromkeys(labels)), spoken)

    def written(self, form: Form) -> Written:
        """Return the texts in one form, made at first use."""
        written = self._written.get(form)
        if written is None:
            written = self._written[form] = _write(self.product, form)
        return written


def option_elements(product: Product, clicked: Callable[[str, str], bool]) -> Iterator[Element]:
    """Yield the options of an item page: each name, then its values as buttons."""
    for name, values in product.options.items():
        yield Element(name)
        for value in values:
            yield Element(value, Kind.CLICKED_OPTION if clicked(name, value) else Kind.OPTION)


def plain(text: str) -> str:
    """Lower the case and collapse the spaces of a button's text, so that it is found however it is typed."""
    return " ".join(text.lower().split())


def _write(product: Product, form: Form) -> Written:
    about = (Element(product.title), Element(product.price_text))
    details = (product.title, f"Price: {product.price_text}", "Rating: N.A.")
    buttons = (Element(name, Kind.BUTTON) for name in SUBPAGES[:-1])
    return Written(
        listing=form.write((Element(product.asin, Kind.LINK), *about)),
        opened=form.write((Element(product.asin, Kind.CLICKED_LINK), *about)),
        head=form.write((*TOP, *option_elements(product, lambda name, value: False))),
        tail=form.write((*map(Element, details), *buttons)),
        subpages={name: form.write((*TOP, *map(Element, lines))) for name, lines in _subpages(product).items()},
    )


def _subpages(product: Product) -> dict[str, Iterable[str]]:
    """List the lines of each sub page, with the blank that the original puts before some."""
    about = (product.category, product.query, product.product_category)
    return {
        "Description": (product.description,),
        "Features": (f" {bullet}" for bullet in product.bullets),
        "Reviews": (),
        "Attributes": (*(f" {attribute}" for attribute in product.attributes), *about),
    }
