"""What is thrown at the shop, and the laws that hold all the same: for the fuzz loop and for the quick tests."""

from __future__ import annotations

import random
from typing import Any, get_args

from envs.webshop.catalog.catalog import Catalog
from envs.webshop.shop.shop import Observation, TextShop
from envs.webshop.shop.state import PAGE_SIZE, Page, ShopState

Step = tuple[str, float, bool, bool, dict[str, Any]]

BUTTONS = (
    "search",
    "back to search",
    "next >",
    "< prev",
    "description",
    "features",
    "reviews",
    "attributes",
    "buy now",
)
TEXTS = (
    *("", " ", "\n", "\x00", "\x1b[2J", "\x7f", "\x85", "\u2028", "\u200d", "\ufeff", "\ud800", "\U0001f600", "\u0130"),
    *("[", "]", "[]", "][", "[x]]", "a [b", '"', "'", "\\", "{}", "{0}", "%s", "<b>&amp;</b>", "<r>", "<a>", "<c>"),
    *("\u00df", "\u1e9e", "\u03a3\u03a3", "\u212a", "\u017f", "e\u0301", "\u202eabc", "\uff21", "\u3042", " [SEP] "),
    *("item_page", "search_results", "item_sub_page", "done", "click[buy now]", "search[x]", "8 | 9", "1.0", "shoes"),
)
QUERIES = ("red shoes", "<r>", "<q> shoes", "<c> fashion", "<a> x", "item_page <r>", "search_results shoes")
LONG = 100_000
"""Characters of the longest text."""


def hostile_catalog() -> Catalog:
    """Make a shop full of products with such texts for names, options and ids."""
    rng = random.Random(0)
    products: list[dict[str, Any]] = []
    attributes: dict[str, Any] = {}
    for number in range(60):
        words = [rng.choice(TEXTS) for _ in range(8)]
        groups = {rng.choice(TEXTS): [{"value": rng.choice((*TEXTS, *BUTTONS))} for _ in range(4)] for _ in range(3)}
        asin = rng.choice((f"B{number:09d}", f"b{number}x", (f"{number}" + rng.choice(TEXTS))[:10]))
        products.append(
            {
                "asin": asin,
                "name": " ".join(words[:4]),
                "full_description": words[4] * 3,
                "small_description": words[5:],
                "pricing": rng.choice(("", "$9.99", "$10.00 - $30.00", "$1,299.00")),
                "category": rng.choice(("", "fashion", words[0])),
                "query": rng.choice(("shoes", words[1], "")),
                "product_category": rng.choice(("", "A \u203a B", f"A \u203a {words[2]} \u203a B")),
                "customization_options": rng.choice(({}, groups, groups, {**groups, "Size": None, "color": []})),
            }
        )
        attributes[asin] = {
            "attributes": words[:2],
            "instruction": words[6],
            "instruction_attributes": [words[7] or "x"],
        }
    return Catalog.from_records(products, attributes)


def any_shop(catalog: Catalog, rng: random.Random) -> TextShop:
    """Open a shop in either form, in any of its modes."""
    compat = rng.random() < 0.5
    modes = get_args(Observation) if compat else get_args(Observation)[:2]
    return TextShop(
        catalog,
        compat,
        observation=rng.choice(modes),
        show_attrs=rng.random() < 0.3,
        previous_observations=rng.choice((0, 0, 0, 1, 3)),
        previous_actions=rng.choice((0, 0, 0, 1, 2)),
        ratio=rng.choice(("rapidfuzz", "rapidfuzz", "difflib")),
        max_steps=rng.choice((None, None, None, 1, 30)),
    )


def any_action(shop: TextShop, rng: random.Random) -> str:
    """Say something: mostly what the page offers, now and then what nobody would."""
    kind = rng.random()
    offered = [button for button in shop.available_actions.clickables if button != "search"]
    if kind < 0.6 and offered:
        text = f"click[{rng.choice(offered)}]"
    elif kind < 0.65:
        text = f"search[{rng.choice((*TEXTS, *QUERIES))}]"
    elif kind < 0.75:
        text = f"click[{rng.choice(BUTTONS)}]"
    elif kind < 0.9:
        verb = rng.choice(("search", "click", "Search ", "CLICK", "think", ""))
        text = f"{verb}[{''.join(rng.choices(TEXTS, k=rng.randint(0, 6)))}]"
    elif kind < 0.9999:
        text = "".join(
            chr(rng.choice((rng.randrange(128), rng.randrange(0x3000), rng.randrange(0x110000)))) for _ in "123"
        )
    else:
        text = f"{rng.choice(('search[', 'click[', ''))}{rng.choice(('a', '[', ']', 'a ', '[]'))}" * (LONG // 8)
    return text if rng.random() < 0.9 else text.upper() if rng.random() < 0.5 else f" {text} because]"


def check(shop: TextShop, before: ShopState, step: Step) -> None:
    """Raise AssertionError where a step, taken in a state, breaks a law of the shop."""
    observation, reward, terminated, truncated, info = step
    state = shop.state
    assert isinstance(observation, str)
    assert info["goal_id"] == shop.goal.id
    assert info["action_valid"] == (not info["error"])
    assert info["action_valid"] or state == before, "what cannot be done changes nothing"
    assert 0.0 <= reward <= 1.0
    assert not (terminated and truncated)
    assert info["reason"] == ("bought" if terminated else "step limit" if truncated else "")
    assert not reward or (terminated and shop.score and shop.score.total == reward), "the reward comes with a purchase"
    assert not terminated or state.page is Page.DONE
    _check_state(shop, state)
    _check_actions(shop)
    if not shop.compat and before.page is Page.DONE:
        assert (info["action_valid"], reward, terminated) == (False, 0.0, True), "the fixed form ends for good"


def _check_state(shop: TextShop, state: ShopState) -> None:
    product = state.product
    assert (product is not None) == (state.page in (Page.ITEM, Page.SUBPAGE, Page.DONE))
    assert bool(state.subpage) == (state.page is Page.SUBPAGE)
    assert product is not None or not state.options
    assert (state.page is not Page.INDEX) or state == ShopState(session=state.session)
    for name, value in state.options.items():
        assert product is not None
        assert value in product.options[name], "only what a product has can be chosen"
    for asin in state.shown:
        assert asin in shop.catalog.products
    if not shop.compat and state.page is Page.RESULTS:
        assert 1 <= state.number <= max(1, -(-len(state.results) // PAGE_SIZE)), "paging is bounded"


def _check_actions(shop: TextShop) -> None:
    search, clickables = shop.available_actions
    assert len(set(clickables)) == len(clickables)
    if shop.compat:
        assert search == (shop.state.page is Page.INDEX)
    elif shop.state.page is Page.DONE:
        assert (search, clickables) == (False, ())


def check_offers(shop: TextShop) -> None:
    """Raise AssertionError where the fixed form offers a button that does nothing; leaves the shop where it was."""
    state, score = shop.state, shop.score
    for button in shop.available_actions.clickables:
        assert shop.step(f"click[{button}]")[4]["action_valid"], button
        shop.state, shop.score = state, score
