"""A generated catalogue in WebShop's own JSON schema: a shop that needs no download, the same for one seed anywhere."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from aes.errors import ConfigError
from envs.webshop.catalog.generate_words import BRANDS, DEPARTMENTS, OPTIONS, Department, Kind

Item = dict[str, Any]

# Asins are "B0", a four-letter code and four digits: long enough for millions, few enough pieces to spell.
ASIN_CODES = tuple(a + b + c + d for a in "BDGKLMNR" for b in "AEIO" for c in "DKMT" for d in "AU")
MOST_PRODUCTS = len(ASIN_CODES) * 10_000


def records(products: int, seed: int) -> Iterator[tuple[Item, Item]]:
    """Make `products` products, one after the other: (entry of WebShop's items file, entry of its attributes file).

    Every product has 3-6 attributes; its description and first bullet, which the search sees, name all of them, its
    title the first three. Its instruction asks for the first 2-4, as sellers and buyers care for the same things.
    Raises ConfigError for a number that cannot be made.
    """
    if not 1 <= products <= MOST_PRODUCTS:
        raise ConfigError(f"products {products}: a generated catalogue holds 1 to {MOST_PRODUCTS} (choose in between)")
    return _records(products, random.Random(f"webshop/{seed}"))


def _records(products: int, rng: random.Random) -> Iterator[tuple[Item, Item]]:
    for number in rng.sample(range(MOST_PRODUCTS), products):
        asin = f"B0{ASIN_CODES[number // 10_000]}{number % 10_000:04d}"
        department = rng.choice(DEPARTMENTS)
        kind = rng.choice(department.kinds)
        traits = _traits(rng, department)
        item = _item(rng, asin, department, kind, traits)
        wanted = traits[: rng.randint(2, min(4, len(traits)))]
        instruction = _instruction(department, kind, wanted)
        yield item, {"attributes": traits, "instruction": instruction, "instruction_attributes": wanted}


def _traits(rng: random.Random, department: Department) -> list[str]:
    traits = rng.sample(department.adjectives, rng.randint(2, 3))
    traits += rng.sample(department.contents, rng.randint(1, 2))
    traits += rng.sample(department.purposes, rng.randint(0, 1))
    return rng.sample(traits, len(traits))


def _item(rng: random.Random, asin: str, department: Department, kind: Kind, traits: list[str]) -> Item:
    brand = rng.choice(BRANDS)
    shown, told = traits[:3], traits[3:]
    name = " ".join([brand, *shown, kind.query]).title()
    description = f"A {kind.query} by {brand}: {', '.join(traits)}."
    bullets = [f"{trait.capitalize()}." for trait in (told or shown)]
    price = rng.randint(*kind.prices) + rng.choice((0.0, 0.5, 0.99))
    return {
        "name": name,
        "full_description": description,
        "pricing": f"${price:.2f}",
        "images": [""],
        "product_category": kind.path.replace(">", "\u203a"),  # the separator that the original splits at
        "average_rating": rng.randint(30, 50) / 10,
        "small_description": bullets,
        "customization_options": _options(rng, kind),
        "asin": asin,
        "category": department.category,
        "query": kind.query,
        "page": 1,
    }


def _options(rng: random.Random, kind: Kind) -> dict[str, list[Item]] | str:
    groups = {name: rng.sample(OPTIONS[name], rng.randint(2, 4)) for name in kind.options if rng.random() < 0.9}
    return {
        name: [{"value": value.title(), "is_selected": False, "image": None} for value in values]
        for name, values in groups.items()
    } or ""


def _instruction(department: Department, kind: Kind, wanted: list[str]) -> str:
    """Name the wanted attributes as WebShop's own instructions do: "Find me A, B things with C for D"."""
    parts = [("", department.adjectives), (" with ", department.contents), (" for ", department.purposes)]
    named = [(lead, ", ".join(w for w in wanted if w in pool)) for lead, pool in parts]
    (_, adjectives), *rest = named
    front = f"Find me {adjectives} {kind.query}" if adjectives else f"Find me {kind.query}"
    return front + "".join(lead + words for lead, words in rest if words)
