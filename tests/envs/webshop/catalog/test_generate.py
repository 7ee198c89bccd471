import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aes.errors import ConfigError
from envs.webshop.catalog.catalog import Catalog
from envs.webshop.catalog.generate import MOST_PRODUCTS, records
from envs.webshop.catalog.generate_words import DEPARTMENTS, OPTIONS
from envs.webshop.reward.fuzzy import matches
from envs.webshop.reward.reward import score


def test_equal_seeds_make_equal_catalogues() -> None:
    assert list(records(50, 3)) == list(records(50, 3))
    assert list(records(50, 3)) != list(records(50, 4))


@pytest.mark.parametrize("products", [0, -1, MOST_PRODUCTS + 1])
def test_an_impossible_number_is_refused(products: int) -> None:
    with pytest.raises(ConfigError, match=f"products {products}"):
        records(products, 0)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 200), st.integers(0, 1000))
def test_asins_are_unique_and_ten_long(products: int, seed: int) -> None:
    asins = [item["asin"] for item, _ in records(products, seed)]
    assert len(set(asins)) == products
    assert all(len(asin) == 10 for asin in asins)


def test_instructions_ask_for_what_the_product_has() -> None:
    for item, entry in records(200, 1):
        assert 2 <= len(entry["instruction_attributes"]) <= 4
        assert set(entry["instruction_attributes"]) <= set(entry["attributes"])
        assert all(attribute in entry["instruction"] for attribute in entry["instruction_attributes"])
        assert item["query"] in entry["instruction"]


def test_no_attribute_and_no_option_passes_for_another() -> None:
    for department in DEPARTMENTS:
        named = (*department.adjectives, *department.contents, *department.purposes)
        assert not any(matches(one, other) for one, other in itertools.permutations(named, 2))
    for name, values in OPTIONS.items():
        assert not any(matches(one, (name.lower(), other)) for one, other in itertools.permutations(values, 2))


def test_the_goals_own_product_with_its_options_is_worth_everything() -> None:
    catalog = Catalog.generate(200, seed=2)
    for goal in catalog.goals("synthetic", "all")[:200]:
        assert isinstance(goal.options, dict)
        assert score(goal, catalog.products[goal.asin], goal.options).total >= 0.99
