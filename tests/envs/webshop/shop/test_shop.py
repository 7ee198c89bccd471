from __future__ import annotations

import re
from typing import Any

import pytest

from aes.errors import UsageError
from aes.protocols import Environment
from envs.webshop.catalog.catalog import Catalog
from envs.webshop.catalog.goals import Goal
from envs.webshop.shop.shop import TextShop
from envs.webshop.shop.state import Page
from tests.envs.webshop.conftest import ATTRIBUTES, ITEMS


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


def test_a_random_sample_stays_while_paging(real_catalog: Catalog) -> None:
    shop = TextShop(real_catalog)
    shop.reset(goal=0, seed=0)
    shop.step("search[<r>]")
    results = shop.state.results
    shop.step("click[next >]")
    assert len(results) == len(set(results)) == 50
    assert shop.state.results == results


def test_paging_is_bounded(real_catalog: Catalog) -> None:
    shop = TextShop(real_catalog)
    shop.reset(goal=0)
    shop.step("search[shoes for women]")
    for _ in range(7):
        shop.step("click[next >]")
    assert shop.state.number == 5
    assert "next >" not in shop.available_actions.clickables


def test_equal_seeds_draw_equal_goals_and_samples(catalog: Catalog) -> None:
    shops = [TextShop(catalog), TextShop(catalog)]
    seen = []
    for shop in shops:
        goals = [shop.reset(seed=3)[1]["goal_id"]] + [shop.reset()[1]["goal_id"] for _ in range(5)]
        shop.step("search[<r>]")
        seen.append((goals, shop.state.results))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("compat", [False, True])
def test_a_goal_asked_for_is_not_kept(catalog: Catalog, compat: bool) -> None:
    shop = TextShop(catalog, compat)
    shop.reset(goal=0, seed=0)
    assert len({shop.reset()[1]["goal_id"] for _ in range(30)}) > 2


def test_a_goal_that_is_not_there(catalog: Catalog) -> None:
    shop = TextShop(catalog)
    with pytest.raises(UsageError, match="no goal 99; there are 6, counted from 0"):
        shop.reset(goal=99)
    with pytest.raises(UsageError, match="call reset"):
        shop.step("search[x]")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"observation": "html"}, "no observation 'html'; take one of text, text_rich, url"),
        ({"observation": "url"}, "the fixed form has no URLs; take 'text' or 'text_rich', or compat=True"),
        ({"previous_actions": -1}, "previous_actions -1: give how many to repeat, 0 or more"),
        ({"max_steps": 0}, "max_steps 0: an episode has at least one step"),
    ],
)
def test_what_cannot_be_asked_for(catalog: Catalog, arguments: dict[str, Any], error: str) -> None:
    with pytest.raises(UsageError, match=re.escape(error)):
        TextShop(catalog, **arguments)
    with pytest.raises(UsageError, match="take compat=True"):
        TextShop(catalog).reset(goal=0, session="a")


def test_the_start_page_says_no_more_than_can_be_done(shop: TextShop) -> None:
    assert shop.available_actions == (True, ())
    assert shop.step("click[search]")[4]["error"].endswith("there is nothing to click here; use search[words]")


def test_rich_text_shows_what_is_clicked_and_chosen(catalog: Catalog, goal: Goal) -> None:
    shop = TextShop(catalog, observation="text_rich")
    shop.reset(goal=goal)
    shop.step("search[shoes]")
    shop.step("click[b000000001]")
    observation, *_ = shop.step('click[the "dark" one]')
    assert observation.startswith("Instruction:\n")
    assert "  [button] 8 [button_]\n" in observation
    assert '  [clicked button] the "dark" one [clicked button_]\nSelected: color: the "dark" one\nAcme' in observation
    assert "\n\n[clicked button] B000000001 [clicked button_]\n" in shop.step("click[< prev]")[0]
    shop.step("click[b000000001]")
    observation, *_ = shop.step("click[buy now]")
    assert observation == "Thank you for shopping with us!\nPurchased: B000000001\n"


def test_attributes_are_shown_where_asked_for(catalog: Catalog) -> None:
    shop = TextShop(catalog, show_attrs=True)
    shop.reset(goal=0)
    for text in ("search[shoes]", "click[b000000001]"):
        shop.step(text)
    assert shop.available_actions.clickables[4:7] == ("reviews", "attributes", "buy now")
    observation, *_ = shop.step("click[attributes]")
    assert observation.endswith(
        "< Prev [SEP] rubber sole [SEP] light weight [SEP] fashion [SEP] running shoes"
        " [SEP] Clothing \u203a Shoes \u203a Running"
    )


def test_the_step_limit_truncates(catalog: Catalog) -> None:
    shop = TextShop(catalog, max_steps=3)
    shop.reset(goal=0)
    ends = [shop.step(text) for text in ("search[shoes]", "nonsense", "click[b000000001]", "click[buy now]")]
    assert [(terminated, truncated) for _, _, terminated, truncated, _ in ends] == [(False, False)] * 2 + [
        (False, True)
    ] * 2
    assert [info["reason"] for *_, info in ends] == ["", "", "step limit", "step limit"]
    assert ends[3][4]["error"] == "the episode has ended; nothing can be done any more"
    assert shop.available_actions == (False, ())
    shop.reset(goal=0)
    assert shop.available_actions[0]


def test_a_purchase_at_the_limit_is_a_purchase(catalog: Catalog) -> None:
    shop = TextShop(catalog, max_steps=3)
    shop.reset(goal=0)
    for text in ("search[shoes]", "click[b000000001]"):
        shop.step(text)
    *_, terminated, truncated, info = shop.step("click[buy now]")
    assert (terminated, truncated, info["reason"]) == (True, False, "bought")


def test_every_product_can_be_opened_whatever_its_id() -> None:
    records = [{**ITEMS[1], "asin": asin} for asin in ("b00lower", "Two  Words", "\u0130x")]
    catalog = Catalog.from_records([*records, ITEMS[2]], ATTRIBUTES)
    for compat in (False, True):
        shop = TextShop(catalog, compat)
        shop.reset(goal=0)
        shop.step("search[<q> shoes]")
        for button in [b for b in shop.available_actions.clickables if b not in ("back to search", "next >")]:
            assert shop.step(f"click[{button}]")[4]["action_valid"]
            assert shop.state.page is Page.ITEM
            shop.step("click[< prev]")


def test_every_offered_button_works(catalog: Catalog) -> None:
    wild = {"Do": ["buy now", "", "a\nb", "[x]]", "8"], "Size": ["8", "\u0130", "\u2003"]}
    options = {name: [{"value": value} for value in values] for name, values in wild.items()}
    shop = TextShop(Catalog.from_records([{**ITEMS[0], "customization_options": options}], ATTRIBUTES))
    shop.reset(goal=0)
    for text in ("search[shoes]", "click[b000000001]"):
        shop.step(text)
    offered = shop.available_actions.clickables[6:]
    assert len(offered) == 8
    chosen = []
    for button in offered:
        assert shop.step(f"click[{button}]")[4]["action_valid"], button
        chosen.append(dict(shop.state.options))
    assert shop.state.page is Page.ITEM
    assert shop.step("click[buy now]")[2]
