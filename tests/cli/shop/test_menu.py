from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.shop.menu import LONGEST_LINE, Act, Command, Menu, Say, command
from envs.webshop import Catalog, TextShop
from envs.webshop.shop import Page


def shop_of(options: dict[str, list[str]] | None = None, **record: Any) -> TextShop:
    """A shop that sells one product, at its goal."""
    product = {
        "asin": "B000000001",
        "name": "Red Shoes",
        "category": "fashion",
        "query": "shoes",
        "product_category": "Clothing \u203a Shoes",
        "full_description": "",
        "small_description": [],
        "pricing": "$20.00",
        "images": [""],
        "customization_options": {
            name: [{"value": value} for value in values] for name, values in (options or {}).items()
        },
    } | record
    attributes = {"B000000001": {"attributes": ["red"], "instruction": "red", "instruction_attributes": ["red"]}}
    shop = TextShop(Catalog.from_records([product], attributes))
    shop.reset(goal=0)
    return shop


def at_item(options: dict[str, list[str]] | None = None) -> TextShop:
    shop = shop_of(options)
    for action in ("search[shoes]", "click[b000000001]"):
        assert shop.step(action)[4]["action_valid"]
    return shop


def typed(line: str, shop: TextShop) -> Command:
    return command(line, Menu.of(shop))


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("", "look"),
        (" \t ", "look"),
        ("\x1b\x07", "look"),
        ("q", "quit"),
        (" Q ", "quit"),
        ("?", "help"),
        ("red shoes", Act(("click[red shoes]", "search[red shoes]"))),
        ("a [wide] one", Act(("click[a [wide] one]", "search[a [wide] one]"))),
        ("search[b]", Act(("search[b]",))),
        ("Click [ Back to Search ]", Act(("Click [ Back to Search ]",))),
        ("search[", Act(("click[search[]", "search[search[]"))),
        ("n", Say("n does nothing on this page")),
    ],
)
def test_lines_on_the_first_page(line: str, meant: Command) -> None:
    assert typed(line, shop_of()) == meant


@pytest.mark.parametrize("number", ["1", "0", "999999", "9" * 5000, "\u0663"])
def test_a_number_is_no_search_where_nothing_has_one(number: str) -> None:
    assert isinstance(typed(number[:LONGEST_LINE], shop_of()), Say)


def test_a_line_that_is_too_long() -> None:
    assert isinstance(typed("x" * (LONGEST_LINE + 1), shop_of()), Say)
    assert isinstance(typed("x" * LONGEST_LINE, shop_of()), Act)


def test_letters_are_the_buttons_of_the_page() -> None:
    shop = shop_of()
    seen = {Page.INDEX: ""}
    for action in ("search[shoes]", "click[b000000001]", "click[features]"):
        shop.step(action)
        seen[shop.state.page] = "".join(Menu.of(shop).keys)
    assert seen == {Page.INDEX: "", Page.RESULTS: "b", Page.ITEM: "ydfrpb", Page.SUBPAGE: "pb"}


def test_every_letter_does_what_it_is_called() -> None:
    for letter, page in [("d", Page.SUBPAGE), ("p", Page.RESULTS), ("b", Page.INDEX), ("y", Page.DONE)]:
        shop = at_item()
        meant = typed(letter, shop)
        assert isinstance(meant, Act)
        assert shop.step(*meant.actions)[4]["action_valid"]
        assert shop.state.page is page


def test_at_the_end_there_is_the_next_goal_or_none() -> None:
    shop = at_item()
    shop.step("click[buy now]")
    assert typed("n", shop) == "next goal"
    assert typed("Q", shop) == "quit"
    for line in ("shoes", "1", "b", "search[a]"):
        assert typed(line, shop) == Say("this goal is done; n for the next one, q to quit")


@pytest.mark.parametrize(
    "options",
    [
        {"size": ["8", "9 [wide]", "10 | 11", "a] b", "1"]},
        {"size": ["small", "large"], "fit": ["small", "wide"]},
        {"size": ["description", "buy now", "< prev", "next >"]},
        {"color": ["red\nand   blue", "\x1b[31mred", 'the "dark" one', "größe 👕"]},
        {"page": [f"no {at}" for at in range(200)]},
        {"a: b": ["c"], "a": ["b: c"]},
        {"long": ["x" * 3000, "y y" * 500]},
        {"size": ["s", "S ", "m", "s"]},
    ],
)
def test_a_number_chooses_its_option_whatever_it_is_called(options: dict[str, list[str]]) -> None:
    shop = at_item(options)
    assert shop.state.product is not None
    groups = shop.state.product.options.items()
    pairs = [(name, value) for name, values in groups for value in dict.fromkeys(values)]
    assert len(Menu.of(shop).numbered) == len(pairs)
    for number, (name, value) in enumerate(pairs, 1):
        meant = typed(str(number), shop)
        assert isinstance(meant, Act)
        assert shop.step(*meant.actions)[4]["error"] == ""
        assert shop.state.options[name] == value


@given(st.text() | st.from_regex(r"(search|click) ?\[.*\]?", fullmatch=True))
def test_any_line_means_something_and_every_action_fits_the_shop(line: str) -> None:
    for shop in (_INDEX, _ITEM):
        meant = typed(line, shop)
        if isinstance(meant, Act):
            assert all("\n" not in action for action in meant.actions)
        else:
            assert isinstance(meant, Say) or meant in ("look", "help", "quit")


_INDEX, _ITEM = shop_of(), at_item({"size": ["small", "large"]})
