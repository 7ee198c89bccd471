"""From a raw JSON record to a `Product`: the original's cleaning rules, with errors that name the field."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from sys import intern
from typing import Any

from aes.errors import DataError
from envs.webshop.catalog.product import HumanInstruction, Product

NO_ATTRIBUTES = ("DUMMY_ATTR",)
"""What the original gives to a product that the attribute file does not know."""

DEFAULT_PRICE = 100.0
_ASIN_LENGTH = 10
_NOT_IN_NUMBER = re.compile(r"[^0-9.]")


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON object and where it stood, for error messages."""

    fields: Mapping[str, Any]
    where: str

    def error(self, name: str, expected: str) -> DataError:
        """Say which field is not what it should be, with its value."""
        shown = repr(self.fields[name])[:80] if name in self.fields else "missing"
        return DataError(f"{self.where}: field {name!r} must be {expected}, but is {shown}; mend or remove this record")

    def text(self, name: str, default: str | None = None) -> str:
        """Return a string field; null and missing give the default, if there is one."""
        value = self.fields.get(name)
        value = default if value is None else value
        if not isinstance(value, str):
            raise self.error(name, "a string")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a field that is a list of strings; null and missing are empty."""
        value = self.fields.get(name)
        value = () if value is None else value
        if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(v, str) for v in value):
            raise self.error(name, "a list of strings")
        return tuple(value)


def products_from(
    items: Iterable[Any],
    attributes: Mapping[str, Any],
    human: Mapping[str, Any],
    rng: random.Random,
    skipped: Counter[str],
    sources: tuple[str, str, str] = ("products", "attributes", "human instructions"),
) -> Iterator[Product]:
    """Yield the products in catalogue order, each asin once, drawing the price of those that have a range.

    Records with the asin 'nan', one longer than 10 characters or one seen before are left out, as in the original, and
    so are blank ones; they are counted by reason in `skipped`. `sources` names the three inputs in errors. Raises
    DataError on a record that is not what it should be.
    """
    seen: set[str] = set()
    for number, item in enumerate(items):
        if not isinstance(item, Mapping):
            raise DataError(f"{sources[0]}, record {number}: must be an object, but is {type(item).__name__}")
        asin = Record(item, f"{sources[0]}, record {number}").text("asin")
        if reason := _unusable(asin, seen):
            skipped[reason] += 1
            continue
        seen.add(asin)
        record = Record(item, f"{sources[0]}, record {number}, asin {asin}")
        yield _product(record, asin, _entry(attributes, asin, sources[1]), _human(human, asin, sources[2]), rng)


def _unusable(asin: str, seen: set[str]) -> str:
    if asin == "nan":
        return "asin 'nan'"
    if not asin.strip():
        return "blank asin"  # no click could name it
    if len(asin) > _ASIN_LENGTH:
        return f"asin of more than {_ASIN_LENGTH} characters"
    return "asin seen before" if asin in seen else ""


def _product(
    record: Record, asin: str, extra: Record | None, human: tuple[HumanInstruction, ...], rng: random.Random
) -> Product:
    name = record.text("name")
    pricing = _pricing(record)
    images = record.texts("images")
    return Product(
        asin=asin,
        name=name,
        title=name,
        description=record.text("full_description", ""),
        bullets=_bullets(record),
        category=intern(record.text("category")),
        query=intern(record.text("query").lower().strip()),
        product_category=intern(record.text("product_category")),
        attributes=_shared(extra.texts("attributes")) if extra else NO_ATTRIBUTES,
        options=_options(record),
        pricing=pricing,
        price_text=" to ".join(f"${price}" for price in pricing),
        price=rng.uniform(*pricing) if len(pricing) == 2 else pricing[0],
        instruction=extra.text("instruction") if extra and extra.fields.get("instruction") is not None else None,
        instruction_attributes=_shared(extra.texts("instruction_attributes")) if extra else (),
        human=human,
        image=images[0] if images else None,
    )


def _pricing(record: Record) -> tuple[float, ...]:
    """Read "$10.71 - $18.34" as (10.71, 18.34); nothing is 100 dollars."""
    text = record.text("pricing", "")
    if not text:
        return (DEFAULT_PRICE,)
    try:
        prices = tuple(float(_NOT_IN_NUMBER.sub("", piece)) for piece in text.split("$")[1:])
    except ValueError:
        prices = ()
    if not prices:
        raise record.error("pricing", 'empty or like "$9.99" or "$9.99 - $12.50"')
    return prices[:2]


def _bullets(record: Record) -> tuple[str, ...]:
    value = record.fields.get("small_description", "")
    return (value or "",) if value is None or isinstance(value, str) else record.texts("small_description")


def _options(record: Record) -> dict[str, tuple[str, ...]]:
    groups = record.fields.get("customization_options") or {}
    if not isinstance(groups, Mapping):
        raise record.error("customization_options", "an object of lists")
    return {intern(name.lower()): _values(record, values) for name, values in groups.items() if values is not None}


def _values(record: Record, values: Any) -> tuple[str, ...]:
    try:
        return _shared(value["value"].strip().replace("/", " | ").lower() for value in values)
    except (TypeError, KeyError, AttributeError, IndexError) as error:
        raise record.error("customization_options", "an object of lists of {value: string, ...}") from error


def _shared(texts: Iterable[str]) -> tuple[str, ...]:
    """Keep one copy of what many products say: half the memory of a large catalogue."""
    return tuple(intern(text) for text in texts)


def _entry(attributes: Mapping[str, Any], asin: str, source: str) -> Record | None:
    entry = attributes.get(asin)
    if entry is None:
        return None
    if not isinstance(entry, Mapping):
        raise DataError(f"{source}, asin {asin}: must be an object, but is {type(entry).__name__}")
    return Record(entry, f"{source}, asin {asin}")


def _human(human: Mapping[str, Any], asin: str, source: str) -> tuple[HumanInstruction, ...]:
    entries = human.get(asin, ())
    if not isinstance(entries, Sequence) or not all(isinstance(entry, Mapping) for entry in entries):
        raise DataError(f"{source}, asin {asin}: must be a list of objects, but is {type(entries).__name__}")
    records = [Record(entry, f"{source}, asin {asin}, entry {number}") for number, entry in enumerate(entries)]
    return tuple(
        HumanInstruction(r.text("instruction"), r.texts("instruction_attributes"), r.texts("instruction_options"))
        for r in records
    )
