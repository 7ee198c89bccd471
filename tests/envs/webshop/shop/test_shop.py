from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aes.errors import UsageError
from aes.protocols import Environment
from envs.webshop.catalog.catalog import Catalog
from envs.webshop.catalog.goals import Goal
from envs.webshop.shop.shop import TextShop
from envs.webshop.shop.state import Page


@pytest.fixture
def goal(catalog: Catalog) -> Goal:
    """Red or blue running shoes in size 8."""
    wanted = {"color": "red  |  blue", "size": "8"}
    plain = {"color": "red | blue", "size": "8"}
    return next(goal for goal in catalog.goals("synthetic", "all") if goal.options in (wanted, plain))


@pytest.fixture
def shop(catalog: Catalog, goal: Goal) -> TextShop:
    """A shop in the fixed form, at the start of an episode."""
    shop = TextShop(catalog)
    shop.reset(goal=goal)
    return shop


def test_it_is_an_environment(shop: TextShop) -> None:
    assert isinstance(shop, Environment)


def test_a_purchase_from_end_to_end(shop: TextShop, goal: Goal) -> None:
    observation, _ = shop.reset(goal=goal)
    assert observation == f"WebShop [SEP] Instruction: [SEP] {goal.instruction} [SEP] Search"
    observation, *_ = shop.step("search[running shoes]")
    assert "Page 1 (Total results: 2) [SEP] B000000001 [SEP] Acme Red Running Shoes" in observation
    shop.step("click[B000000001]")
    shop.step("click[8]")
    observation, reward, terminated, truncated, info = shop.step("click[color: red | blue]")
    assert "[SEP] Selected: size: 8, color: red | blue [SEP]" in observation
    assert (reward, terminated, truncated, info["action_valid"]) == (0.0, False, False, True)
    observation, reward, terminated, _, info = shop.step("click[Buy Now]")
    assert (reward, terminated) == (1.0, True)
    assert info["score"] is shop.score
    assert info["goal_id"] == goal.id
    assert "1.0" not in observation
    assert shop.state.page is Page.DONE


def test_nothing_can_be_done_after_the_end(shop: TextShop) -> None:
    for text in ("search[lamp]", "click[b000000003]", "click[buy now]"):
        shop.step(text)
    _, reward, terminated, _, info = shop.step("search[lamp]")
    assert (reward, terminated, info["action_valid"]) == (0.0, True, False)
    assert info["error"] == "the episode has ended; nothing can be done any more"
    assert shop.available_actions == (False, ())


def test_the_original_goes_on_after_the_end(catalog: Catalog, goal: Goal) -> None:
    shop = TextShop(catalog, compat=True)
    shop.reset(goal=goal)
    for text in ("search[shoes]", "click[b000000001]"):
        shop.step(text)
    observation, first, terminated, *_ = shop.step("click[buy now]")
    assert terminated
    assert f"[SEP] {first} [SEP]" in observation
    assert shop.step("click[buy now]")[1:3] == (0.0, False)
    for text in ("search[shoes]", "click[b000000001]"):
        shop.step(text)
    assert shop.step("click[buy now]")[1] == first


def test_option_texts_with_brackets_and_quotes(shop: TextShop) -> None:
    shop.step("search[shoes]")
    shop.step("click[b000000001]")
    shop.step("click[9 [wide]]")
    shop.step('click[the "dark" one]')
    assert shop.state.options == {"size": "9 [wide]", "color": 'the "dark" one'}
    shop.step("click[8]")
    assert shop.state.options["size"] == "8"


def test_the_way_back(shop: TextShop) -> None:
    shop.step("search[shoes]")
    shop.step("click[b000000001]")
    shop.step("click[8]")
    shop.step("click[Features]")
    assert shop.state.subpage == "Features"
    shop.step("click[< Prev]")
    assert (shop.state.page, shop.state.options, shop.state.subpage) == (Page.ITEM, {"size": "8"}, "")
    shop.step("click[< prev]")
    assert (shop.state.page, shop.state.product, shop.state.options) == (Page.RESULTS, None, {})
    shop.step("click[back to search]")
    assert shop.state.page is Page.INDEX


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("hello", "not an action: 'hello'; write search[words] or click[button]"),
        ("click[add to cart]", "no button 'add to cart' on this page; click one of: back to search, b000000001, b0000"),
        ("click[next >]", "no button 'next >' on this page"),
    ],
)
def test_errors_speak_to_the_agent(shop: TextShop, text: str, error: str) -> None:
    before, *_ = shop.step("search[shoes]")
    after, reward, terminated, _, info = shop.step(text)
    assert info["error"].startswith(error)
    assert (after, reward, terminated, info["action_valid"]) == (before, 0.0, False, False)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("<c> fashion", ("B000000001", "B000000002")),
        ("<q> running shoes", ("B000000001",)),
        ("<a> rubber sole", ("B000000001",)),
        ("<a> unknown", ()),
    ],
)
def test_listings_by_keyword(shop: TextShop, query: str, found: tuple[str, ...]) -> None:
    shop.step(f"search[{query}]")
    assert shop.state.results == found


def test_a_random_sample_stays_while_paging_in_the_fixed_form(real_catalog: Catalog) -> None:
    fixed, original = TextShop(real_catalog), TextShop(real_catalog, compat=True)
    for shop in (fixed, original):
        shop.reset(goal=0, seed=0)
        shop.step("search[<r>]")
    first, other = fixed.state.results, original.state.results
    for shop in (fixed, original):
        shop.step("click[next >]")
    assert len(first) == len(set(first)) == 50
    assert fixed.state.results == first
    assert original.state.results != other


def test_paging_is_bounded_in_the_fixed_form_only(real_catalog: Catalog) -> None:
    fixed, original = TextShop(real_catalog), TextShop(real_catalog, compat=True)
    for shop in (fixed, original):
        shop.reset(goal=0)
        shop.step("search[shoes for women]")
        for _ in range(7):
            shop.step("click[next >]")
    assert fixed.state.number == 5
    assert original.state.number == 8


def test_equal_seeds_draw_equal_goals_and_samples(catalog: Catalog) -> None:
    shops = [TextShop(catalog), TextShop(catalog)]
    seen = []
    for shop in shops:
        goals = [shop.reset(seed=3)[1]["goal_id"]] + [shop.reset()[1]["goal_id"] for _ in range(5)]
        shop.step("search[<r>]")
        seen.append((goals, shop.state.results))
    assert seen[0] == seen[1]


def test_a_goal_that_is_not_there(catalog: Catalog) -> None:
    shop = TextShop(catalog)
    with pytest.raises(UsageError, match="no goal 99; there are 6, counted from 0"):
        shop.reset(goal=99)
    with pytest.raises(UsageError, match="call reset"):
        shop.step("search[x]")


WORDS = ["search[shoes]", "search[<r>]", "click[next >]", "click[< prev]", "click[b000000001]", "click[8]", "bad"]
WORDS += ["click[features]", "click[back to search]", "click[buy now]", "click[search]", "search[ ]", "click[reviews]"]


@given(st.lists(st.sampled_from(WORDS), max_size=25), st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_any_words_keep_the_shop_sane(catalog: Catalog, words: list[str], compat: bool) -> None:
    shop = TextShop(catalog, compat)
    shop.reset(goal=0, seed=0)
    for text in words:
        before = shop.state
        observation, reward, terminated, truncated, info = shop.step(text)
        assert observation
        assert 0 <= reward <= 1
        assert not truncated
        assert info["action_valid"] or shop.state == before
        assert reward == 0 or terminated
        assert all(button == button.lower() for button in shop.available_actions.clickables)


def test_golden_episodes(real_catalog: Catalog, golden: Callable[[str], Any]) -> None:
    shop = TextShop(real_catalog, compat=True)
    for episode in golden("golden_text_env")["episodes"]:
        for step in episode["steps"]:
            if step["action"] == "reset":
                observation, reward, terminated = shop.reset(goal=episode["goal_idx"])[0], 0.0, False
            else:
                observation, reward, terminated, _, _ = shop.step(step["action"])
            assert observation == step["text"]
            assert (reward, terminated) == (step["reward"], step["done"])
            assert shop.available_actions == (step["has_search_bar"], tuple(step["clickables"]))
