from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aes.errors import DataError
from envs.webshop.catalog.catalog import Catalog
from envs.webshop.catalog.goals import NO_CEILING
from envs.webshop.catalog.product import HumanInstruction, Product
from envs.webshop.catalog.wishes import price_ceiling, wishes_of

PRODUCT = Product("B1", "thing", instruction="find", instruction_attributes=("a",))


@pytest.mark.parametrize(("price", "possible"), [(0.0, {20, 30, 40}), (10.0, {30, 40, 50}), (960.0, {980, 990})])
def test_the_ceiling_is_never_the_nearest(price: float, possible: set[float]) -> None:
    rng = random.Random(1)
    assert {price_ceiling(price, rng) for _ in range(200)} == possible


@pytest.mark.parametrize("price", [980.0, 5000.0, float("inf"), float("nan")])
def test_dear_products_have_no_ceiling(price: float) -> None:
    assert price_ceiling(price, random.Random(0)) == NO_CEILING


@given(st.dictionaries(st.sampled_from("cab"), st.lists(st.sampled_from("xyz"), max_size=3).map(tuple), max_size=3))
def test_every_combination_is_one_goal_with_an_id_of_its_own(options: dict[str, tuple[str, ...]]) -> None:
    (wish,) = wishes_of([replace(PRODUCT, options=options)], "synthetic", random.Random(0))
    goals = [wish.goal(number, number, 1.0) for number in range(wish.count)]
    assert len({goal.id for goal in goals}) == len(goals)
    assert all(list(goal.options) == sorted(options) for goal in goals)
    assert [goal.option_values for goal in goals] == list(itertools.product(*(options[n] for n in sorted(options))))


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


def test_equal_instructions_of_one_product_are_told_apart() -> None:
    asked = HumanInstruction("blue shoes", ("blue",), ())
    one, other = wishes_of([replace(PRODUCT, human=(asked, asked))], "human", random.Random(0))
    assert one.goal(0, 0, 1.0).id + "-2" == other.goal(0, 1, 1.0).id


def test_an_instruction_without_attributes_is_an_error() -> None:
    with pytest.raises(DataError, match="asin B1: an instruction without"):
        list(wishes_of([replace(PRODUCT, instruction_attributes=())], "synthetic", random.Random(0)))
