from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.webshop.catalog.catalog import Catalog
from envs.webshop.catalog.goals import Goal
from envs.webshop.catalog.product import Product
from envs.webshop.reward.reward import score
from tests.envs.webshop.reward.golden import goal_of

SHOES = "Mens D.O.N. Issue 2 Gca Basketball Sneakers Shoes Casual - Off White"
OTHER_SHOES = "PEAK High Top Mens Basketball Shoes Lou Williams Streetball Master Breathable Non Slip Outdoor Sneakers"
CORD = "Saireed UL Listed 2 Prong Power Cord for JBL Bar 3.1 Bar 2.1 Channel 4K Ultra HD Soundbar"
OTHER_CORD = (
    "BRST AC Power Cord Outlet Socket Cable Plug Lead for Panasonic SC-HT830V DVD/VCR Combo Home Theater System"
)
TEA = ("tea tree", "essential oils", "natural ingredients")


def wish(
    name: str = SHOES,
    query: str = "query 1",
    path: str = "a \u203a b \u203a c",
    attributes: tuple[str, ...] = TEA,
    options: Mapping[str, str] | tuple[str, ...] = (),
) -> Goal:
    return Goal("g", 0, "B1", "c", query, name, path, "find", attributes, 40.0, options)


def offer(name: str = SHOES, path: str = "a \u203a b \u203a c", **fields: Any) -> Product:
    return Product("B1", name, query="query 1", product_category=path, price=35.0, **fields)


def test_the_type_factor() -> None:
    path = "x \u203a y"
    assert score(wish(query="other"), offer(OTHER_SHOES, path), {}).r_type == 1.0
    assert score(wish(CORD, query="other"), offer(OTHER_CORD, path), {}).r_type == 0.5
    assert score(wish(CORD + " one two" + " word" * 8), offer(OTHER_CORD), {}).r_type == 0.1
    assert score(wish(CORD), offer("Lamp"), {}).r_type == 0.0
    assert score(wish("5 6"), offer("Lamp"), {}).title_score == 0.2


def test_attributes_are_looked_for_in_texts_word_for_word() -> None:
    texts: dict[str, Any] = {
        "title": "English Tea",
        "bullets": ("Soothing", "calming"),
        "description": "Made by Lipton",
    }
    for wanted, met in (("lipton", 1), ("tea soothing", 0), ("soothing calming", 1), ("Lipton", 0), ("lip", 1)):
        assert score(wish(attributes=(wanted,)), offer(**texts), {}).r_att == met
    # A plain string is joined character by character, as in the original.
    assert score(wish(attributes=("tea",)), offer(bullets="tea"), {}).r_att == 0


@pytest.mark.parametrize(
    ("bought", "wanted", "met"),
    [
        ("large", {"size": "x-large"}, True),
        ("x-large", ("xx-large",), True),
        ("x-large", {"size": "xx-large"}, False),
        ("light grey", {"color": "grey"}, True),
        ("8.5", {"size": "8"}, False),
    ],
)
def test_what_an_option_is_taken_for(bought: str, wanted: Mapping[str, str] | tuple[str, ...], met: bool) -> None:
    assert score(wish(options=wanted), offer(), {"any": bought}).r_option == met


def test_the_ratio_is_chosen_and_recorded() -> None:
    goal, bought = wish(attributes=("15x60 hd binoculars",)), offer(attributes=("10x50 hd binoculars",))
    results = [score(goal, bought, {}), score(goal, bought, {}, ratio="difflib")]
    assert [(result.ratio, result.r_att) for result in results] == [("rapidfuzz", 1.0), ("difflib", 0.0)]


def test_a_price_above_the_ceiling_costs_its_share() -> None:
    result = score(wish(), replace(offer(attributes=TEA), price=40.01), {})
    assert (result.r_price, result.w_price, result.total) == (False, 0.25, 0.75)
    assert "r_option" not in result.parts


@given(
    st.lists(st.sampled_from(TEA), min_size=1, max_size=3),
    st.lists(st.sampled_from(TEA), max_size=3),
    st.dictionaries(st.sampled_from("ab"), st.sampled_from(["red", "x-large", "8"])),
    st.dictionaries(st.sampled_from("ab"), st.sampled_from(["red", "large", "9"])),
)
def test_a_total_is_a_share(
    wanted: list[str], attributes: list[str], options: dict[str, str], chosen: dict[str, str]
) -> None:
    result = score(wish(attributes=tuple(wanted), options=options), offer(attributes=tuple(attributes)), chosen)
    assert 0 <= result.total <= result.r_type
    assert result.w_att + (result.w_option or 0) + result.w_price == pytest.approx(1)


class _Tagged:
    """The nouns that the original's spaCy model found."""

    name = "spacy"

    def __init__(self, found: Mapping[str, tuple[str, ...]]) -> None:
        self._found = found

    def __call__(self, text: str) -> tuple[str, ...]:
        return self._found[text]


def test_golden_rewards(real_catalog: Catalog, golden: Callable[[str], Any]) -> None:
    nouns = golden("spacy_nouns_1000")["nouns"]
    tagged = _Tagged({real_catalog.products[asin].name: tuple(found) for asin, found in nouns.items()})
    same_type = 0
    rows = golden("golden_reward")
    for row in rows:
        goal = goal_of(row["goal"])
        product = replace(real_catalog.products[row["asin"]], price=row["price"])
        exact = score(goal, product, row["options"], tagged)
        assert (exact.total, exact.parts) == (row["reward"], row["info"])
        same_type += score(goal, product, row["options"]).r_type == row["info"]["r_type"]
    assert same_type / len(rows) > 0.9
