"""The original's quirks, one a test; what golden episodes show already is not repeated here."""

from __future__ import annotations

import pytest

from envs.webshop.catalog.catalog import Catalog
from envs.webshop.catalog.product import Product
from envs.webshop.shop.compat import url
from envs.webshop.shop.shop import TextShop
from envs.webshop.shop.state import Page, ShopState
from tests.envs.webshop.conftest import ATTRIBUTES, ITEMS

SHOE = "click[b000000001]"
BASE = "http://127.0.0.1:3000"


def play(shop: TextShop, *texts: str) -> str:
    """Take these steps; return the last observation."""
    observation = ""
    for text in texts:
        observation = shop.step(text)[0]
    return observation


@pytest.fixture
def shop(catalog: Catalog) -> TextShop:
    """The original's shop, at the start of an episode."""
    shop = TextShop(catalog, compat=True)
    shop.reset(goal=0)
    return shop


@pytest.fixture
def rich(catalog: Catalog) -> TextShop:
    """The same with rich observations."""
    shop = TextShop(catalog, compat=True, observation="text_rich")
    shop.reset(goal=0)
    return shop


def test_it_goes_on_after_the_end_and_pays_twice(shop: TextShop) -> None:
    play(shop, "search[shoes]", SHOE)
    page, first, terminated, *_ = shop.step("click[buy now]")
    assert terminated
    assert f"[SEP] {first} [SEP]" in page
    assert shop.available_actions == (False, ())
    again, reward, terminated, _, info = shop.step("click[buy now]")
    assert (again, reward, terminated, info["reason"]) == (page, 0.0, False, "")
    play(shop, "search[shoes]", SHOE)
    _, reward, terminated, _, info = shop.step("click[buy now]")
    assert (reward, terminated, info["reason"]) == (first, True, "bought")


def test_a_search_from_any_page_forgets_the_product(shop: TextShop) -> None:
    for way in ((), (SHOE, "click[8]"), (SHOE, "click[features]"), (SHOE, "click[buy now]")):
        play(shop, "search[shoes]", *way, "search[lamp]")
        assert (shop.state.page, shop.state.number) == (Page.RESULTS, 1)
        assert (shop.state.product, shop.state.options) == (None, {})


def test_there_is_always_a_next_page(shop: TextShop) -> None:
    page = play(shop, "search[zzzz]", *["click[next >]"] * 3)
    assert page.endswith("[SEP] Back to Search [SEP] Page 4 (Total results: 0) [SEP] < Prev [SEP] Next >")


def test_brackets_and_case_break_an_action(shop: TextShop) -> None:
    play(shop, "search[shoes]", SHOE)
    for text in ("click[9 [wide]]", "Click[8]", " click[8]", "I choose\nclick[8]", "click[8 ]"):
        assert not shop.step(text)[4]["action_valid"]
    assert shop.state.options == {}


def test_text_hides_what_is_chosen(shop: TextShop) -> None:
    before = play(shop, "search[shoes]", SHOE)
    assert play(shop, "click[8]") == before
    assert shop.state.options == {"size": "8"}


def test_rich_text_tells_the_clicked_options_last_first(rich: TextShop) -> None:
    page = play(rich, "search[shoes]", SHOE, "click[red | blue]", "click[8]")
    assert page.startswith("You have clicked red | blue.\nYou have clicked 8.\nInstruction:\n")
    assert "\n  [clicked button] 8 [clicked button_]\n  [button] 9 [wide] [button_]\n" in page


def test_values_that_json_escapes_never_show_as_clicked(rich: TextShop) -> None:
    page = play(rich, "search[shoes]", SHOE, 'click[the "dark" one]')
    assert rich.state.options == {"color": 'the "dark" one'}
    assert "clicked" not in page


def test_quoted_keywords_show_as_clicked(rich: TextShop) -> None:
    page = play(rich, 'search[shoes "8"]', SHOE)
    assert rich.state.options == {}
    assert page.startswith("You have clicked 8.\n")


def test_a_value_shown_twice_is_told_twice() -> None:
    options = {"Size": [{"value": "8"}, {"value": "8"}], "Width": [{"value": "8"}, {"value": ""}]}
    catalog = Catalog.from_records([{**ITEMS[0], "customization_options": options}], ATTRIBUTES)
    shop = TextShop(catalog, compat=True, observation="text_rich")
    shop.reset(goal=0)
    page = play(shop, "search[shoes]", SHOE, "click[8]")
    assert shop.state.options == {"width": "8"}
    assert page.count("You have clicked 8.\n") == 3
    assert shop.available_actions.clickables[-2:] == ("8", "")


def test_opened_products_show_as_clicked_until_back_to_search(rich: TextShop) -> None:
    mark = "\n\n[clicked button] B000000001 [clicked button_]\n"
    assert mark not in play(rich, "search[shoes]")
    assert mark in play(rich, SHOE, "click[< prev]")
    assert mark in play(rich, "search[running]")
    assert mark not in play(rich, "click[back to search]", "search[running]")


def test_an_option_called_like_a_button_hides_it() -> None:
    options = {"Do": [{"value": "Buy Now"}, {"value": "< prev"}]}
    catalog = Catalog.from_records([{**ITEMS[0], "customization_options": options}], ATTRIBUTES)
    shop = TextShop(catalog, compat=True)
    shop.reset(goal=0)
    play(shop, "search[shoes]", SHOE, "click[buy now]", "click[< prev]")
    assert (shop.state.page, shop.state.options) == (Page.ITEM, {"do": "< prev"})
    assert shop.available_actions.clickables == (
        *("back to search", "< prev", "description", "features", "reviews", "buy now"),
    )


@pytest.mark.parametrize(
    ("query", "way", "page", "number"),
    [
        ("shoes", ("click[features]",), Page.ITEM, 1),
        ("item_page shoes", ("click[features]",), Page.RESULTS, 1),
        ("item_page shoes", (), Page.RESULTS, 1),
        ("search_results shoes", ("click[features]",), Page.RESULTS, 0),
        ("search_results shoes", (), Page.RESULTS, 0),
        ("item_sub_page done shoes", ("click[features]",), Page.ITEM, 1),
        ("item_sub_page done shoes", (), Page.RESULTS, 1),
    ],
)
def test_the_way_back_goes_by_page_names_in_the_query(
    shop: TextShop, query: str, way: tuple[str, ...], page: Page, number: int
) -> None:
    play(shop, f"search[{query}]", SHOE, "click[8]", *way, "click[< prev]")
    assert (shop.state.page, shop.state.number) == (page, number)
    assert shop.state.options == ({"size": "8"} if page is Page.ITEM else {})


def test_page_zero_is_empty_and_has_a_next_one(shop: TextShop) -> None:
    page = play(shop, "search[search_results shoes]", SHOE, "click[< prev]")
    assert page.endswith("[SEP] Page 0 (Total results: 2) [SEP] Next >")
    assert "B000000001" in play(shop, "click[next >]")


def test_the_way_back_goes_by_page_names_in_the_session_too(catalog: Catalog) -> None:
    shop = TextShop(catalog, compat=True)
    shop.reset(goal=0, session="item_page")
    play(shop, "search[shoes]", SHOE, "click[features]", "click[< prev]")
    assert shop.state.page is Page.RESULTS


def test_addresses() -> None:
    shoe = Product("B1", "Shoe")
    options = {"size": '8" \u00e9', "it's": "x"}
    state = ShopState(query="red  shoes", number=2, session="s")
    assert url(state) == f"{BASE}/s"
    assert url(state.found("red  shoes", (), 2)) == f"{BASE}/search_results/s/red++shoes/2"
    item = ShopState(Page.ITEM, "q", (), 1, shoe, options, session="s")
    assert url(item) == BASE + '/item_page/s/B1/q/1/{"size": "8\\" \\u00e9", "it\'s": "x"}'
    sub = item.turn_to(Page.SUBPAGE, "Features")
    assert url(sub) == BASE + "/item_sub_page/s/B1/q/1/Features/{'size': '8\" \u00e9', \"it's\": 'x'}"
    assert url(item.turn_to(Page.DONE)) == BASE + "/done/s/B1/{'size': '8\" \u00e9', \"it's\": 'x'}"


def test_sessions_name_an_episode_and_keep_its_goal(catalog: Catalog) -> None:
    shop = TextShop(catalog, compat=True, observation="url")
    assert shop.reset(goal=2)[0] == f"{BASE}/2"
    assert shop.reset(session="2")[1]["goal_id"] == shop.goals[2].id
    assert shop.reset(seed=1, session="a")[0] == f"{BASE}/a"
    kept = shop.goal
    assert all(shop.reset(session="a")[1]["goal_id"] == kept.id for _ in range(5))
    other = next(goal for goal in shop.goals if goal != kept)
    shop.reset(goal=other, session="a")
    assert shop.goal is other
    name = shop.reset(seed=3)[0].removeprefix(f"{BASE}/")
    assert len(name) == 10
    assert name.isascii()
    assert name.islower()
    assert shop.reset(seed=3)[0] == f"{BASE}/{name}"


@pytest.mark.parametrize(
    ("way", "text"),
    [((), "Instruction: "), (("search[shoes]",), "Instruction:"), (("search[shoes]", SHOE), "Instruction:")],
)
def test_the_instruction_of_a_page(shop: TextShop, way: tuple[str, ...], text: str) -> None:
    play(shop, *way)
    assert shop.instruction_text == text + shop.goal.instruction
    play(shop, "search[shoes]", SHOE, "click[buy now]")
    assert shop.instruction_text == ""


def test_a_sample_changes_with_every_page(real_catalog: Catalog) -> None:
    shop = TextShop(real_catalog, compat=True)
    shop.reset(goal=0, seed=0)
    seen = []
    for text in ("search[<r>]", "click[next >]", "click[< prev]"):
        shop.step(text)
        seen.append(shop.state.results)
    assert len(set(seen)) == 3


def test_listings_hold_all_and_samples_what_there_is(shop: TextShop) -> None:
    for query, count in (("<r>", 3), ("<a> rubber sole", 1), ("<a> none", 0), ("<c> fashion", 2), ("<c>", 0)):
        play(shop, f"search[{query}]")
        assert len(shop.state.results) == count


def test_the_last_page_writes_options_as_flask_does() -> None:
    options = {"Z": [{"value": "<b>&'\u00e9"}], "A": [{"value": "x"}]}
    catalog = Catalog.from_records([{**ITEMS[0], "customization_options": options}], ATTRIBUTES)
    shop = TextShop(catalog, compat=True)
    shop.reset(goal=0)
    page = play(shop, "search[shoes]", SHOE, "click[<b>&'\u00e9]", "click[x]", "click[buy now]")
    written = '{"a": "x", "z": "\\u003cb\\u003e\\u0026\\u0027\\u00e9"}'
    assert f"[SEP] options [SEP] {written} [SEP] attrs [SEP] None" in page


def test_the_limit_is_only_told(catalog: Catalog) -> None:
    shop = TextShop(catalog, compat=True, max_steps=1)
    shop.reset(goal=0)
    assert shop.step("search[shoes]")[2:4] == (False, True)
    assert shop.step(SHOE)[4]["action_valid"]
    assert shop.step("click[buy now]")[2:4] == (True, False)
