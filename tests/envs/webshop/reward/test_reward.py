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


@pytest.mark.parametrize(
    ("path", "match"),
    [
        ("b \u203a c \u203a a", True),
        ("d \u203a e \u203a f", False),
        ("a \u203a d \u203a b", True),
        ("a \u203a a \u203a b", True),
        ("a \u203a a \u203a d", False),
    ],
)
def test_category_match(path: str, match: bool) -> None:
    assert score(wish(), offer(path=path), {}).category_match is match


@pytest.mark.parametrize(
    ("goal", "bought", "expected"),
    [
        (SHOES, SHOES, 1.0),
        (SHOES, OTHER_SHOES, 0.333),
        (CORD + " Home Theater System Subwoofer", OTHER_CORD, 0.3),
        (CORD, OTHER_CORD, 0.15),
        ("Rusticware 921ORB Kitchen and Bath Cabinet Knob", "Minkissy 2pcs Stainless Steel Eyebrow Tweezers", 0.0),
    ],
)
def test_title_score_of_the_published_cases(goal: str, bought: str, expected: float) -> None:
    assert score(wish(goal), offer(bought), {}).title_score == pytest.approx(expected, abs=0.01)


def test_the_type_factor() -> None:
    path = "x \u203a y"
    assert score(wish(query="other"), offer(OTHER_SHOES, path), {}).r_type == 1.0
    assert score(wish(CORD, query="other"), offer(OTHER_CORD, path), {}).r_type == 0.5
    assert score(wish(CORD + " one two" + " word" * 8), offer(OTHER_CORD), {}).r_type == 0.1
    assert score(wish(CORD), offer("Lamp"), {}).r_type == 0.0
    assert score(wish("5 6"), offer("Lamp"), {}).title_score == 0.2


@pytest.mark.parametrize(
    ("goal", "fields", "met"),
    [
        (TEA, {"attributes": ("tea tree", "essential oil", "natural ingredients")}, 3),
        (TEA, {"attributes": ("essential oil", "natural ingredients")}, 2),
        (
            TEA,
            {
                "bullets": ("This shampoo has essential oils and smells like lemons",),
                "description": "Best shampoo on the market, made with natural ingredients",
            },
            2,
        ),
        # A plain string is joined character by character, as in the original.
        (TEA, {"bullets": "This has essential oils", "description": "made with natural ingredients"}, 1),
        (
            ("tea bag", "earl gray", "lipton"),
            {
                "title": "English tea for breakfast",
                "bullets": ("Soothing aroma", "Calming, great feeling"),
                "description": "Best tea made by Lipton, great to pair with breakfast",
            },
            1,
        ),
    ],
)
def test_attributes(goal: tuple[str, ...], fields: dict[str, Any], met: int) -> None:
    assert score(wish(attributes=goal), offer(**fields), {}).r_att == pytest.approx(met / len(goal))


@pytest.mark.parametrize(
    ("bought", "wanted", "expected"),
    [
        (["pack of 12", "grey", "XL"], ("grey", "XL", "pack of 12"), 1.0),
        (["pack of 12", "blue", "XL"], ("grey", "XL", "pack of 12"), 2 / 3),
        (["pack of 12", "powder snow", "XL"], ("cool powder snow", "XL", "pack of 12"), 1.0),
        (["goal 1"], (), None),
        ([], ("goal 1", "goal 2"), 0.0),
        (["large"], {"size": "x-large"}, 1.0),
        (["x-large"], ("xx-large",), 1.0),
        (["x-large"], {"size": "xx-large"}, 0.0),
        (["light grey"], {"color": "grey"}, 1.0),
    ],
)
def test_options(bought: list[str], wanted: Mapping[str, str] | tuple[str, ...], expected: float | None) -> None:
    options = {str(number): value for number, value in enumerate(bought)}
    assert score(wish(options=wanted), offer(), options).r_option == pytest.approx(expected)


def test_the_published_totals() -> None:
    options = {"color": "grey", "size": "XL"}
    exact = offer(attributes=TEA)
    assert score(wish(options=options), exact, options).total == 1
    assert score(wish(options=options), exact, options).success
    wordy = offer(
        bullets="This shampoo has essential oils and smells like lemons",
        description="Best shampoo on the market, made with natural ingredients",
    )
    assert score(wish(options=options), wordy, options).total == pytest.approx(4 / 6)
    more = wish(options=options | {"amount": "pack of 12"})
    assert score(more, wordy, options).total == pytest.approx(4 / 7)
    unlike = replace(more, name=CORD, query="query 2", product_category="a \u203a d \u203a e")
    assert score(unlike, replace(wordy, name=OTHER_CORD), options).total == pytest.approx(2 / 7)


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
