import pytest

from envs.webshop.agent.view import ITEM_ACTIONS, START_ACTIONS, View, cut
from envs.webshop.catalog.catalog import Catalog
from envs.webshop.shop.shop import TextShop
from envs.webshop.shop.state import Page


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog.generate(300, seed=1)


def walk(catalog: Catalog, view: View, *actions: str) -> str:
    shop = TextShop(catalog)
    shop.reset(0)
    page = view.first(shop.goal)
    for action in actions:
        before = shop.state
        assert not shop.step(action)[4]["error"]
        page = view.next(before, shop.state, catalog.products.__getitem__)
    return page


def with_options(catalog: Catalog) -> tuple[str, str, str]:
    product = next(p for p in catalog.products.values() if p.options)
    name, values = next(iter(product.options.items()))
    return product.title, product.asin, f"{name}: {values[0]}"


def test_the_first_page_tells_the_goal_and_the_one_action(catalog: Catalog) -> None:
    page = walk(catalog, View())
    assert page.startswith("Goal: Find me ")
    assert page.endswith(START_ACTIONS)


def test_results_are_cut_to_the_best_few(catalog: Catalog) -> None:
    page = walk(catalog, View(results=3), "search[pillow]")
    assert page.count("\n- B0") == 3
    assert page.startswith("Page 1 of ")


def test_a_later_page_offers_the_way_back(catalog: Catalog) -> None:
    page = walk(catalog, View(), "search[pillow blanket free]", "click[next >]")
    assert "click[< prev]" in page


def test_an_empty_search_says_so_and_offers_no_next_page(catalog: Catalog) -> None:
    page = walk(catalog, View(), "search[zzzz]")
    assert "nothing here" in page
    assert "next >" not in page


def test_a_choice_is_confirmed_without_the_whole_page(catalog: Catalog) -> None:
    title, asin, option = with_options(catalog)
    page = walk(catalog, View(), f"search[{title}]", f"click[{asin}]", f"click[{option}]")
    assert page == f"Chosen: {option}{ITEM_ACTIONS}"


def test_a_choice_is_still_shown_after_a_look_at_the_description(catalog: Catalog) -> None:
    title, asin, option = with_options(catalog)
    way = (f"search[{title}]", f"click[{asin}]", f"click[{option}]", "click[description]")
    assert walk(catalog, View(), *way).startswith("Description: A ")
    page = walk(catalog, View(), *way, "click[< prev]")
    assert title in page
    assert f"Chosen: {option}" in page


def test_option_values_are_cut(catalog: Catalog) -> None:
    title, asin, _ = with_options(catalog)
    page = walk(catalog, View(values=1), f"search[{title}]", f"click[{asin}]")
    assert " more" in page


def test_reviews_are_empty_and_say_so(catalog: Catalog) -> None:
    title, asin, _ = with_options(catalog)
    page = walk(catalog, View(), f"search[{title}]", f"click[{asin}]", "click[reviews]")
    assert page.startswith("Reviews: nothing here")


def test_a_cut_text_is_never_too_long() -> None:
    assert cut("short", 5) == "short"
    assert cut("longer", 5) == "long…"


def test_back_to_search_and_the_end_are_pages_too(catalog: Catalog) -> None:
    title, asin, _ = with_options(catalog)
    assert walk(catalog, View(), "search[pillow]", "click[back to search]").startswith("Search page")
    page = walk(catalog, View(), f"search[{title}]", f"click[{asin}]", "click[buy now]")
    assert "reward" not in page.lower()
    assert Page.DONE.value not in page
