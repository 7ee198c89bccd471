"""Whatever is said to the shop and is for sale there, its laws hold; `benchmarks/shop_fuzz.py` does this at length."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from benchmarks.hostile import BUTTONS, LONG, QUERIES, TEXTS, any_action, any_shop, check, check_offers, hostile_catalog
from envs.webshop.catalog.catalog import Catalog
from envs.webshop.shop.shop import Observation, TextShop
from envs.webshop.shop.state import Page

CATALOG = hostile_catalog()
MODES = [(compat, mode) for compat in (False, True) for mode in get_args(Observation) if compat or mode != "url"]
WILD = st.text(st.characters(), max_size=30) | st.sampled_from(TEXTS)


class Visit(RuleBasedStateMachine):
    """One visitor who wanders, shops, talks nonsense and comes again."""

    @initialize(form=st.sampled_from(MODES), limit=st.none() | st.integers(1, 30), attributes=st.booleans())
    def enter(self, form: tuple[bool, Observation], limit: int | None, attributes: bool) -> None:
        compat, mode = form
        self.shop = TextShop(CATALOG, compat, observation=mode, max_steps=limit, show_attrs=attributes)
        self.shop.reset(seed=0)

    def say(self, text: str) -> None:
        before = self.shop.state
        check(self.shop, before, self.shop.step(text))

    @rule(text=WILD)
    def babble(self, text: str) -> None:
        self.say(text)

    @rule(query=st.sampled_from((*QUERIES, *TEXTS)) | WILD)
    def search(self, query: str) -> None:
        self.say(f"search[{query}]")

    @rule(button=st.sampled_from(BUTTONS) | WILD)
    def click(self, button: str) -> None:
        self.say(f"click[{button}]")

    @precondition(lambda self: self.shop.available_actions.clickables)
    @rule(place=st.integers(0, 99))
    def click_what_is_there(self, place: int) -> None:
        offered = self.shop.available_actions.clickables
        self.say(f"click[{offered[place % len(offered)]}]")

    @rule(seed=st.none() | st.integers(0, 9))
    def come_again(self, seed: int | None) -> None:
        _, info = self.shop.reset(seed=seed)
        assert (self.shop.state.page, self.shop.score, info["error"]) == (Page.INDEX, None, "")

    @invariant()
    def the_page_can_be_told(self) -> None:
        assert self.shop.instruction_text.startswith("Instruction:") or self.shop.state.page is Page.DONE
        assert self.shop.score is None or 0.0 <= self.shop.score.total <= 1.0


TestVisit = Visit.TestCase
TestVisit.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)


@given(words=st.lists(WILD, max_size=8), form=st.sampled_from(MODES))
@settings(max_examples=60, deadline=None)
def test_any_words_on_any_page(words: list[str], form: tuple[bool, Observation]) -> None:
    compat, mode = form
    shop = TextShop(CATALOG, compat, observation=mode)
    asin = next(iter(CATALOG.products)).lower()
    for way in ((), ("search[<r>]",), ("search[<q> shoes]", f"click[{asin}]"), ("search[<r>]", "click[buy now]")):
        for word in words:
            shop.reset(goal=0, seed=0)
            for text in (*way, word, f"click[{word}]", f"search[{word}]"):
                before = shop.state
                check(shop, before, shop.step(text))


@pytest.mark.parametrize("compat", [False, True])
@pytest.mark.timeout(20)
def test_very_long_texts(compat: bool) -> None:
    shop = TextShop(CATALOG, compat)
    shop.reset(goal=0)
    for unit in ("a", "a ", "[", "]", "[]", "click[a] ", "\n", "search[", "\u0130"):
        for text in (unit * (LONG // len(unit)), f"search[{unit * (LONG // len(unit))}]"):
            before = shop.state
            step = shop.step(text)
            check(shop, before, step)
            assert len(step[4]["error"]) < 1000


def test_every_offered_button_does_something() -> None:
    for product in CATALOG.products.values():
        shop = TextShop(CATALOG)
        shop.reset(goal=0)
        shop.state = shop.state.found("x", (product.asin,), 1).open(product)
        check_offers(shop)


def _transcript(catalog: Catalog, number: int) -> Iterator[object]:
    """Play one random episode of twelve actions, a step at a time."""
    rng = random.Random(number)
    shop = any_shop(catalog, rng)
    yield shop.reset(seed=number)
    for _ in range(12):
        yield shop.step(any_action(shop, rng)), shop.available_actions


def test_a_thousand_episodes_at_once_are_each_as_if_alone() -> None:
    episodes = [_transcript(CATALOG, number) for number in range(1000)]
    together = list(zip(*episodes, strict=True))
    for number in range(1000):
        alone = list(_transcript(CATALOG, number))
        assert [moment[number] for moment in together] == alone, number
