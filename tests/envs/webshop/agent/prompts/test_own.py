"""The default prompt, letter by letter: the pocket policy was taught it, so that a change needs another version."""

import pytest

from aes.types import Message
from envs.webshop.agent.prompts.own import PROMPT_VERSION, Own
from envs.webshop.agent.task import WebShop
from envs.webshop.agent.view import View
from envs.webshop.catalog.catalog import Catalog
from envs.webshop.catalog.goals import Goal
from envs.webshop.shop.shop import TextShop
from tests.envs.webshop.agent.conftest import Script, finish

SYSTEM = (
    "You are shopping in a web shop. Buy the product that meets the goal: the right kind of product with the wanted "
    "attributes, its wanted options chosen, and below the price limit. Each turn you see a page and the actions it "
    "allows. Think in one short sentence, then end your reply with exactly one action: search[<words>] or click[<what "
    "is shown>], for example search[red cotton shirt], click[B012345678], click[large] or click[buy now]. Choose every "
    "wanted option before you buy. You have 15 turns, and the first purchase ends the task."
)
ITEM_ACTIONS = (
    "\nActions: search[<words>], click[<option value>], click[buy now], click[description], click[features],"
    " click[reviews], click[< prev], click[back to search]"
)
ITEM = 'Acme Red Running Shoes | $20.0 to $30.0\nsize: 8, 9 [wide]\ncolor: red | blue, the "dark" one'
REPLIES = (
    "First a look. search[running shoes]",
    "The first fits: click[B000000001]",
    "click[8]",
    "click[size 8]",
    "click[ Features]",
    "click[< prev]",
    "click[red | blue]",
    "click[back to search]",
    "search[zzz]",
    "search[running shoes]",
    "click[b000000001]",
    "click[9 [wide]]",
    "Then click[buy now].",
)
RESULTS = """\
Page 1 of 2 results
- B000000001 | Acme Red Running Shoes | $20.0 to $30.0
- B000000002 | Acme Blue Shoes | $100.0
Actions: search[<words>], click[<product id>], click[back to search]"""
NO_BUTTON = (
    "Invalid action: no button 'size 8' on this page; click one of: back to search, < prev, description, features,"
    ' reviews, buy now, 8, 9 [wide], red | blue, the "dark" one'
)
TASK = "Find me rubber sole running shoes with color: red | blue, and size: 8, and price lower than 60.00 dollars"
PAGES = (
    f"Goal: {TASK}\nActions: search[<words>]",
    RESULTS,
    f"{ITEM}{ITEM_ACTIONS}",
    f"Chosen: size: 8{ITEM_ACTIONS}",
    NO_BUTTON,
    "Features: Rubber sole\nMesh upper\nActions: search[<words>], click[< prev], click[back to search]",
    f"{ITEM}\nChosen: size: 8{ITEM_ACTIONS}",
    f"Chosen: size: 8, color: red | blue{ITEM_ACTIONS}",
    "Search page\nActions: search[<words>]",
    "Page 1 of 0 results: nothing here\nActions: search[<words>], click[<product id>], click[back to search]",
    RESULTS,
    f"{ITEM}{ITEM_ACTIONS}",
    f"Chosen: size: 9 [wide]{ITEM_ACTIONS}",
)


def test_every_message_is_what_it_has_always_been(catalog: Catalog, shoes: Goal) -> None:
    script = Script(*REPLIES)
    episode = finish(WebShop(catalog).play(script, shoes, 0))
    told: list[Message] = [{"role": "system", "content": SYSTEM}]
    for asked, page, reply in zip(script.asked, PAGES, REPLIES, strict=True):
        told.append({"role": "user", "content": page})
        assert asked == told
        told.append({"role": "assistant", "content": reply})
    assert list(episode.transcript) == told
    assert PROMPT_VERSION == "1"
    assert Own().max_turns == 15
    assert set(script.stops) == {()}
    assert set(script.max_tokens) == {None}


@pytest.mark.parametrize(
    ("reply", "action", "malformed"),
    [
        ("search[red shoes]", "search[red shoes]", False),
        ("careful click[ red]", "click[ red]", False),
        ("I could click[a]. No:\nsearch[b]", "search[b]", False),
        ("Click[Buy Now].", "Click[Buy Now].", False),
        ("click [a [b]]", "click [a [b]]", False),
        (" no idea ", "no idea", True),
        ("", "", True),
    ],
)
def test_the_last_action_of_a_reply_counts(catalog: Catalog, reply: str, action: str, malformed: bool) -> None:
    move = Own().read(TextShop(catalog), reply)
    assert (move.action, move.malformed, move.answer) == (action, malformed, None)


def test_another_view_is_another_version() -> None:
    assert Own().version == Own(View()).version
    assert Own().version != Own(View(results=3)).version
