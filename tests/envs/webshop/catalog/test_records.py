from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from aes.errors import DataError
from envs.webshop.catalog.product import Product
from envs.webshop.catalog.records import products_from

BASE: dict[str, Any] = {
    "asin": "B1",
    "name": "Thing",
    "category": "c",
    "query": "q",
    "product_category": "a",
    "small_description": ["x"],
}


def build(changes: dict[str, Any], attributes: dict[str, Any] | None = None) -> Product:
    return next(products_from([BASE | changes], attributes or {}, {}, random.Random(0), Counter()))


@pytest.mark.parametrize(
    ("text", "pricing", "shown"),
    [
        (None, (100.0,), "$100.0"),
        ("", (100.0,), "$100.0"),
        ("$877.80", (877.8,), "$877.8"),
        ("$1,299.00", (1299.0,), "$1299.0"),
        ("$10.71 - $18.34", (10.71, 18.34), "$10.71 to $18.34"),
        ("$3 $2 $1", (3.0, 2.0), "$3.0 to $2.0"),
    ],
)
def test_pricing(text: str | None, pricing: tuple[float, ...], shown: str) -> None:
    product = build({"pricing": text})
    assert (product.pricing, product.price_text) == (pricing, shown)


def test_a_price_range_is_drawn_once_from_the_given_generator() -> None:
    assert build({"pricing": "$10 - $20"}).price == random.Random(0).uniform(10, 20)


def test_options_are_cleaned_and_null_groups_left_out() -> None:
    options = build({"customization_options": {"Size": [{"value": " A/B "}], "Fit": None}}).options
    assert options == {"size": ("a | b",)}


def test_a_plain_bullet_becomes_a_list_of_one() -> None:
    assert build({"small_description": "only"}).bullets == ("only",)
    assert build({"small_description": ""}).bullets == ("",)


def test_a_product_without_attributes_gets_the_dummy() -> None:
    assert build({}).attributes == ("DUMMY_ATTR",)
    assert build({}, {"B1": {"attributes": []}}).attributes == ()


def test_unusable_and_repeated_asins_are_left_out() -> None:
    items = [BASE | {"asin": asin} for asin in ("nan", "B0123456789", "B1", "B1", " \n", "B2")]
    skipped = Counter[str]()
    assert [p.asin for p in products_from(items, {}, {}, random.Random(0), skipped)] == ["B1", "B2"]
    assert skipped == {"asin 'nan'": 1, "asin of more than 10 characters": 1, "asin seen before": 1, "blank asin": 1}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", None),
        ("name", 3),
        ("query", None),
        ("pricing", "9.99"),
        ("pricing", "$1.99.5"),
        ("small_description", [1]),
        ("images", "x"),
        ("customization_options", [1]),
        ("customization_options", {"Size": [{"text": "x"}]}),
        ("customization_options", {"Size": 3}),
    ],
)
def test_a_wrong_field_is_named_with_its_record(field: str, value: object) -> None:
    with pytest.raises(DataError, match=f"record 0, asin B1: field '{field}'"):
        build({field: value})


def test_a_record_that_is_no_object_is_counted() -> None:
    with pytest.raises(DataError, match="record 1: must be an object, but is int"):
        list(products_from([BASE, 3], {}, {}, random.Random(0), Counter()))


def test_a_wrong_entry_of_the_other_files_is_named() -> None:
    with pytest.raises(DataError, match="attributes, asin B1"):
        build({}, {"B1": []})
    with pytest.raises(DataError, match="human instructions, asin B1, entry 0: field 'instruction'"):
        list(products_from([BASE], {}, {"B1": [{}]}, random.Random(0), Counter()))
