from statistics import mean

import pytest

from envs.webshop.catalog.catalog import Catalog
from envs.webshop.catalog.goals import Goal
from envs.webshop.pocket.shopper import Diligence, Shopper, careful, hurried
from envs.webshop.shop.shop import TextShop


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog.generate(1000, seed=0)


def play(catalog: Catalog, goal: Goal, diligence: Diligence) -> tuple[float, list[str]]:
    shop, shopper, replies = TextShop(catalog), Shopper(goal, diligence), []
    shop.reset(goal)
    for _ in range(10):
        replies.append(shopper.reply(shop.state, catalog.products.__getitem__))
        _, reward, over, _, info = shop.step(replies[-1].partition(" ")[2])
        assert not info["error"]
        if over:
            return reward, replies
    raise AssertionError(f"no purchase: {replies}")


def test_care_pays_and_hurry_is_not_hopeless(catalog: Catalog) -> None:
    goals = catalog.goals("synthetic", "test")[:200]
    assert mean(play(catalog, goal, careful)[0] for goal in goals) > 0.85
    assert 0.25 < mean(play(catalog, goal, hurried)[0] for goal in goals) < 0.45


@pytest.mark.parametrize("decision", ["search", "open"])
def test_each_decision_pays_on_its_own(catalog: Catalog, decision: str) -> None:
    goals = catalog.goals("synthetic", "test")[:100]
    alone = mean(play(catalog, goal, lambda _, what: what == decision)[0] for goal in goals)
    assert alone > mean(play(catalog, goal, hurried)[0] for goal in goals) + 0.05


def test_a_hurried_shopper_takes_three_turns_and_says_so(catalog: Catalog) -> None:
    _, replies = play(catalog, catalog.goals("synthetic", "train")[0], hurried)
    assert len(replies) == 3
    assert all(reply.startswith("quick ") for reply in replies)


def test_nothing_found_is_searched_for_again() -> None:
    catalog = Catalog.generate(30, seed=0)
    shop = TextShop(catalog)
    shop.reset(0)
    shop.step("search[zzzz]")
    reply = Shopper(shop.goal).reply(shop.state, catalog.products.__getitem__)
    assert reply == f"quick search[ {shop.goal.query}]"
