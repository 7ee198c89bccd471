from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from aes.errors import DataError
from envs.webshop.catalog.catalog import Catalog
from envs.webshop.catalog.goal_list import Goals
from envs.webshop.catalog.goals import GoalKind
from envs.webshop.catalog.product import Product
from envs.webshop.catalog.wishes import wishes_of


def goals_of(products: Iterable[Product], kind: GoalKind, rng: random.Random) -> Goals:
    return Goals.of(list(wishes_of(products, kind, rng)), kind)


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


def test_a_stretch_is_a_list_of_the_same_goals(catalog: Catalog) -> None:
    goals = catalog.goals("synthetic", "all")
    every = tuple(goals)
    assert tuple(goals[1:4]) == every[1:4]
    assert tuple(goals[::-2]) == every[::-2]
    assert goals[-1] == every[-1]
    assert goals[2:] == goals[2:]
    assert goals[2:] != goals[1:]
    assert goals.index(every[3]) == 3
    with pytest.raises(IndexError):
        goals[len(every)]
