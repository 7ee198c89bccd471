from __future__ import annotations

import random
from dataclasses import replace

import pytest

from aes.errors import UsageError
from envs.webshop.catalog.catalog import Catalog
from envs.webshop.catalog.draws import draw_goal, limit_goals
from envs.webshop.catalog.goals import Goal


def weighed(catalog: Catalog, weights: list[float]) -> list[Goal]:
    one = catalog.goals("synthetic", "all")[0]
    return [replace(one, index=index, weight=weight) for index, weight in enumerate(weights)]


def test_draws_are_the_originals_in_the_compatible_form(catalog: Catalog) -> None:
    rng = random.Random(24)
    goals = weighed(catalog, [rng.randint(0, 10) for _ in range(50)])
    assert [draw_goal(goals, rng, compat=True).index for _ in range(3)] == [44, 15, 36]


def test_a_goal_without_weight_is_never_drawn(catalog: Catalog) -> None:
    goals = weighed(catalog, [1.0, 0.0, 3.0])
    rng = random.Random(0)
    drawn = [draw_goal(goals, rng).index for _ in range(400)]
    assert 1 not in drawn
    assert drawn.count(0) == pytest.approx(100, abs=30)


def test_a_list_of_the_catalogue_is_drawn_from_as_the_same_goals_in_a_tuple(catalog: Catalog) -> None:
    goals = catalog.goals("synthetic", "all")
    for stretch in (goals, goals[2:5]):
        one, other = random.Random(3), random.Random(3)
        for _ in range(50):
            assert draw_goal(stretch, one) == draw_goal(tuple(stretch), other)


@pytest.mark.parametrize("compat", [False, True])
def test_a_limit_keeps_different_goals_in_the_order_drawn(catalog: Catalog, compat: bool) -> None:
    goals = weighed(catalog, [1.0, 2.0, 3.0, 4.0])
    drawn = limit_goals(goals, 3, random.Random(0), compat)
    assert len({goal.index for goal in drawn}) == 3
    first = draw_goal(goals, random.Random(0), compat)
    assert drawn[0] is first
    assert limit_goals(goals, 4, random.Random(0), compat) == tuple(goals)
    assert limit_goals(goals, 0, random.Random(0), compat) == ()


@pytest.mark.parametrize(("compat", "limit"), [(False, 3), (True, 2)])
def test_a_limit_that_can_never_be_met_is_refused(catalog: Catalog, compat: bool, limit: int) -> None:
    goals = weighed(catalog, [1.0, 0.0, 0.0, 3.0])
    # In the compatible form the last goal has its own weight, the second the first one's.
    with pytest.raises(UsageError, match=f"limit {limit + compat}: only 2 of the goals can be drawn"):
        limit_goals(goals, limit + compat, random.Random(0), compat)


def test_a_negative_limit_is_refused(catalog: Catalog) -> None:
    with pytest.raises(UsageError, match="limit -1"):
        limit_goals(weighed(catalog, [1.0]), -1, random.Random(0))
