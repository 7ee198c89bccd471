from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from aes.errors import DataError
from envs.webshop.catalog.catalog import Catalog
from envs.webshop.catalog.goals import NO_CEILING, draw_goal, goals_of, price_ceiling
from envs.webshop.catalog.product import Product


@pytest.mark.parametrize(
    ("n", "first"),
    [
        (6910, [3963, 2638, 2193, 1856, 4358, 6149, 2504, 3220, 705, 1072]),
        (12087, [8655, 10304, 6940, 2750, 3667, 2144, 3577, 9548, 8911, 10662]),
        (13, [11, 9, 5, 6, 0, 1, 4, 7, 3, 8]),
    ],
)
def test_goals_stand_in_the_original_order(n: int, first: list[int]) -> None:
    product = Product("B1", "thing", instruction="find", instruction_attributes=("a",))
    products = [replace(product, asin=str(number)) for number in range(n)]
    goals = goals_of(products, "synthetic", random.Random(0))
    assert [int(goal.asin) for goal in goals[:10]] == first
    assert [goal.index for goal in goals] == list(range(n))


@pytest.mark.parametrize(("price", "possible"), [(0.0, {20, 30, 40}), (10.0, {30, 40, 50}), (960.0, {980, 990})])
def test_the_ceiling_is_never_the_nearest(price: float, possible: set[float]) -> None:
    rng = random.Random(1)
    assert {price_ceiling(price, rng) for _ in range(200)} == possible


@pytest.mark.parametrize("price", [980.0, 5000.0])
def test_dear_products_have_no_ceiling(price: float) -> None:
    assert price_ceiling(price, random.Random(0)) == NO_CEILING


def test_synthetic_goals_combine_the_options(catalog: Catalog) -> None:
    goals = [goal for goal in catalog.goals("synthetic", "all") if goal.asin == "B000000001"]
    assert len(goals) == 4
    assert len({goal.price_upper for goal in goals}) == 1
    texts = {goal.instruction.split(", and price")[0] for goal in goals}
    assert "Find me rubber sole running shoes with color: red | blue, and size: 8" in texts
    assert all(goal.weight == 1 / 4 for goal in goals)


def test_without_a_ceiling_there_is_no_price_in_the_text(catalog: Catalog) -> None:
    lamp = next(goal for goal in catalog.goals("synthetic", "all") if goal.asin == "B000000003")
    assert lamp.price_upper == NO_CEILING
    assert lamp.instruction in ("Find me lamps with watt: 5", "Find me lamps with watt: 10")


def test_human_goals_need_an_attribute_and_keep_options_as_values(catalog: Catalog) -> None:
    (goal,) = catalog.goals("human", "all")
    assert goal.options == goal.option_values == ("8",)
    assert goal.instruction.startswith("i want blue shoes, and price lower than ")


def test_ids_are_unique_and_do_not_depend_on_the_seed(catalog: Catalog) -> None:
    ids = [goal.id for goal in catalog.goals("synthetic", "all")]
    assert len(set(ids)) == len(ids)
    product = Product("B1", "thing", instruction="f", instruction_attributes=("a",), options={"size": ("s", "s")})
    one, other = (goals_of([product], "synthetic", random.Random(seed)) for seed in (1, 2))
    assert {goal.id for goal in one} == {goal.id for goal in other}
    assert len({goal.id for goal in one}) == 2


def test_no_goals_at_all_is_an_error() -> None:
    with pytest.raises(DataError, match="no human goals; add items_human_ins"):
        goals_of([Product("B1", "thing")], "human", random.Random(0))


def test_an_instruction_without_attributes_is_an_error() -> None:
    with pytest.raises(DataError, match="asin B1: an instruction without"):
        goals_of([Product("B1", "thing", instruction="find")], "synthetic", random.Random(0))


def test_draws_are_the_originals_in_the_compatible_form(catalog: Catalog) -> None:
    rng = random.Random(24)
    one = catalog.goals("synthetic", "all")[0]
    goals = [replace(one, index=index, weight=rng.randint(0, 10)) for index in range(50)]
    assert [draw_goal(goals, rng, compat=True).index for _ in range(3)] == [44, 15, 36]


def test_a_goal_without_weight_is_never_drawn(catalog: Catalog) -> None:
    one = catalog.goals("synthetic", "all")[0]
    goals = [replace(one, index=index, weight=weight) for index, weight in enumerate([1.0, 0.0, 3.0])]
    rng = random.Random(0)
    drawn = [draw_goal(goals, rng).index for _ in range(400)]
    assert 1 not in drawn
    assert drawn.count(0) == pytest.approx(100, abs=30)


def test_the_real_goals_are_the_originals(real_catalog: Catalog, golden: Callable[[str], Any]) -> None:
    expected = golden("golden_text_env")
    goals = real_catalog.goals("synthetic", "all")
    assert len(goals) == expected["n_goals"] == 6910
    assert sum(goal.weight for goal in goals) == pytest.approx(expected["sum_weights"], abs=1e-9)
    for goal, wanted in zip(goals, expected["first_goals"], strict=False):
        assert (goal.asin, goal.instruction, goal.price_upper) == (
            wanted["asin"],
            wanted["instruction_text"],
            wanted["price_upper"],
        )
        assert goal.options == wanted["goal_options"]
        assert list(goal.attributes) == wanted["attributes"]
        assert goal.weight == pytest.approx(wanted["weight"], abs=1e-15)
    assert len(real_catalog.goals("human", "all")) == 13
