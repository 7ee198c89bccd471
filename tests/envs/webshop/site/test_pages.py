from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest
from aiohttp.test_utils import TestClient, TestServer

from envs.webshop.catalog.catalog import Catalog
from envs.webshop.site import make_app
from envs.webshop.site.pages import NOTICES
from tests.envs.webshop.conftest import ATTRIBUTES, ITEMS
from tests.envs.webshop.site.browsing import Browser
from tests.envs.webshop.site.conftest import Api, Client

WISH = ATTRIBUTES["B000000003"]


@pytest.fixture
async def clothes() -> AsyncIterator[Browser]:
    """A shop of 23 shirts."""
    items = [{**ITEMS[1], "asin": f"B{n:09}", "name": f"Shirt {n}"} for n in range(23)]
    async with TestClient(TestServer(make_app(Catalog.from_records(items, {"B000000000": WISH})))) as client:
        yield Browser(client)


async def test_every_page_on_the_way_to_a_purchase(browser: Browser, catalog: Catalog) -> None:
    await browser.go("/")
    assert "3 products · 6 synthetic goals" in browser.page.text
    await browser.press("Start shopping", split="all", goal="2")
    goal = catalog.goals("synthetic", "all")[2]
    assert goal.instruction in browser.page.text
    assert "Back to Search" not in browser.page.buttons
    await browser.search("Acme  SHOES")
    assert "2 results for “ acme shoes ”" in browser.page.text
    assert "< Prev" not in browser.page.buttons
    assert "Next >" not in browser.page.buttons
    await browser.press("Acme Red Running Shoes")
    assert "$20.0 to $30.0" in browser.page.text
    assert "size : choose one" in browser.page.text
    await browser.press("9 [wide]")
    await browser.press('the "dark" one')
    assert 'color : the "dark" one' in browser.page.text
    assert pressed(browser) == ["9 [wide]", 'the "dark" one']
    await browser.press("8")
    assert pressed(browser) == ["8", 'the "dark" one']
    await browser.press("Features")
    assert "Rubber sole Mesh upper" in browser.page.text
    await browser.press("< Prev")
    assert pressed(browser) == ["8", 'the "dark" one']
    await browser.press("Description")
    assert "Light shoes." in browser.page.text
    await browser.press("< Prev")
    await browser.press("Reviews")
    assert "There is nothing here for this product." in browser.page.text
    await browser.press("< Prev")
    await browser.press("Buy Now")
    assert "Thank you for shopping with us!" in browser.page.text
    assert browser.page.buttons == ["Another goal"]
    await browser.press("Another goal")
    assert "What are you looking for?" in browser.page.text


def pressed(browser: Browser) -> list[str]:
    buttons = [button for form in browser.page.forms for button in form["buttons"]]
    return [button["text"] for button in buttons if button.get("aria-pressed") == "true"]


async def test_people_and_programs_get_the_same_score(browser: Browser, api: Api, catalog: Catalog) -> None:
    for number, goal in enumerate(catalog.goals("synthetic", "all")):
        product = catalog.products[goal.asin]
        session = (await api("POST", "/sessions", {"split": "all", "goal": number})).body["session"]
        await browser.start(split="all", goal=str(number))
        actions = [f"search[{product.title}]", f"click[{goal.asin}]", *(f"click[{v}]" for v in goal.option_values)]
        for action in (*actions, "click[buy now]"):
            body = (await api("POST", f"/sessions/{session}/actions", {"action": action})).body
        await browser.search(product.title)
        for button in (product.title, *goal.option_values, "Buy Now"):
            await browser.press(button)
        assert f"{body['reward']:.2f} of 1.00" in browser.page.text
        seen = (await api("GET", f"/sessions/{browser.address.split('/')[2].split('?')[0]}")).body
        assert (seen["reward"], seen["score"]) == (body["reward"], body["score"])


async def test_the_score_is_taken_apart(browser: Browser) -> None:
    await browser.start(split="all", goal="0")
    await browser.search("lamp")
    await browser.press("Garden Lamp")
    await browser.press("5")
    await browser.press("Buy Now")
    text = browser.page.text
    parts = re.search(r"The score is ([\d.]+) . ([\d.]+) = ([\d.]+)", text)
    assert parts
    assert float(parts[1]) * float(parts[2]) == pytest.approx(float(parts[3]), abs=0.01)
    for words in ("Attributes", "Options", "Price", "at most $", "Kind of product", "chosen: watt: 5"):
        assert words in text


async def test_paging(clothes: Browser) -> None:
    await clothes.start(split="all", goal="0")
    await clothes.search("shirt")
    seen = titles(clothes)
    while "Next >" in clothes.page.buttons:
        await clothes.press("Next >")
        assert titles(clothes).isdisjoint(seen)
        seen |= titles(clothes)
    assert len(seen) == 23
    assert "Page 3 of 3" in clothes.page.text
    await clothes.press("< Prev")
    await clothes.press("< Prev")
    assert "< Prev" not in clothes.page.buttons
    assert titles(clothes) <= seen


def titles(browser: Browser) -> set[str]:
    return {b["text"] for form in browser.page.forms for b in form["buttons"] if b.get("name") == "product"}


async def test_reloading_repeats_nothing(browser: Browser) -> None:
    await browser.start(split="all", goal="0")
    await browser.search("shoes")
    address, source = browser.address, browser.page.source
    for _ in range(2):
        assert (await browser.go(address)).source == source


async def test_the_back_button_shows_where_one_is(browser: Browser) -> None:
    await browser.start(split="all", goal="0")
    await browser.search("shoes")
    results = browser.address
    await browser.press("Acme Blue Shoes")
    await browser.go(results)
    assert NOTICES["moved"] in browser.page.text
    assert "Buy Now" in browser.page.buttons


@pytest.mark.parametrize("button", ["Acme Red Running Shoes", "Back to Search"])
async def test_an_old_tab_changes_nothing(button: str, client: Client) -> None:
    """Not even where the page has such a button now too."""
    tab, old = Browser(client), Browser(client)
    await tab.start(split="all", goal="0")
    await tab.search("shoes")
    await old.go(tab.address)
    await tab.press("Acme Blue Shoes")
    await old.press(button)
    assert old.status == 200
    assert NOTICES["moved"] in old.page.text
    assert "Acme Blue Shoes" in old.page.text


@pytest.mark.parametrize(
    "fields",
    [
        {"click": "buy now"},
        {"click": "no such thing"},
        {"click": ""},
        {"click": "a\nb\r\n]["},
        {"product": "2"},
        {"product": "-1"},
        {"product": "9" * 5000},
        {"product": "²"},
        {"product": "b000000001"},
        {"option": "0.0"},
        {"other": "x"},
        {},
    ],
)
async def test_what_is_no_button_here_changes_nothing(fields: dict[str, str], browser: Browser) -> None:
    await browser.start(split="all", goal="0")
    await browser.search("shoes")
    await browser.send(browser.page.forms[0]["action"], {"page": "1", **fields})
    assert browser.status == 200
    assert NOTICES["nothing"] in browser.page.text
    assert "2 results" in browser.page.text


@pytest.mark.parametrize("option", ["0.9", "9.0", "0", ".", "0.0.0", "0.-1", "-1.0", "x.y", ""])
async def test_options_that_are_not_there(option: str, browser: Browser) -> None:
    await browser.start(split="all", goal="0")
    await browser.search("running")
    await browser.press("Acme Red Running Shoes")
    await browser.send(browser.page.forms[0]["action"], {"page": "2", "option": option})
    assert NOTICES["nothing"] in browser.page.text
    assert pressed(browser) == []


async def test_a_search_for_nothing(browser: Browser) -> None:
    await browser.start(split="all", goal="0")
    await browser.search(" \n ")
    assert NOTICES["words"] in browser.page.text
    await browser.search("unheard-of")
    assert "0 results" in browser.page.text
    await browser.press("Back to Search")
    assert "What are you looking for?" in browser.page.text


@pytest.mark.parametrize("goal", ["6", "-1", "x", "1.5", "9" * 5000, "\uff19"])
async def test_goals_that_are_not_there(goal: str, browser: Browser) -> None:
    await browser.start(split="all", goal=goal)
    assert NOTICES["goal"] in browser.page.text
    assert browser.address == "/?notice=goal"
    await browser.send("/sessions", {"split": "nowhere"})
    assert NOTICES["goal"] in browser.page.text
    await browser.send("/sessions", {})
    assert NOTICES["goal"] in browser.page.text


async def test_an_unknown_notice_is_not_repeated(browser: Browser) -> None:
    await browser.go("/?notice=Your+account+is+locked")
    assert "locked" not in browser.page.source


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/nowhere", "There is nothing at this address."),
        ("/sessions/unknown", "No such session; sessions end when closed, after 60 idle minutes"),
        ("/sessions/%00", "No such session"),
        ("/sessions/%3Cscript%3E", "No such session"),
        ("/static/../app.py", "There is nothing at this address."),
        ("/static/..%2fapp.py", "There is nothing at this address."),
        ("/static/openapi.json", "There is nothing at this address."),
        ("/%ff", "There is nothing at this address."),
        ("/sessions", "This address does not take that method."),
    ],
)
async def test_pages_that_are_not_there(path: str, said: str, browser: Browser) -> None:
    await browser.go(path)
    assert browser.status == (405 if path == "/sessions" else 404)
    assert said in browser.page.text


async def test_forms_of_another_kind(client: Client) -> None:
    for kind in ("application/json", "multipart/form-data; boundary=x", "text/plain"):
        response = await client.post("/sessions", data=b"split=all", headers={"Content-Type": kind})
        assert (response.status, response.content_type) == (415, "text/html")
    kind = "application/x-www-form-urlencoded; charset=nonsense"
    response = await client.post("/sessions", data=b"split=all&goal=0", headers={"Content-Type": kind})
    assert response.status == 200
    response = await client.post("/sessions", data={"split": "x" * 70_000})
    assert (response.status, response.content_type) == (413, "text/html")


async def test_two_people_at_once(client: Client) -> None:
    one, other = Browser(client), Browser(client)
    await one.start(split="all", goal="0")
    await other.start(split="all", goal="5")
    await one.search("lamp")
    await other.search("shoes")
    await other.press("Acme Blue Shoes")
    await one.press("Garden Lamp")
    await one.press("Buy Now")
    await other.go(other.address)
    assert "Acme Blue Shoes" in other.page.text
    await other.press("Buy Now")
    assert "You bought Acme Blue Shoes" in other.page.text
    assert "You bought Garden Lamp" in (await one.go(one.address)).text


async def test_people_may_watch_a_program(browser: Browser, api: Api) -> None:
    """Sessions are the same, in either form and up to the step limit."""
    for compat in (False, True):
        body = {"split": "all", "goal": 0, "compat": compat, "max_steps": 3}
        session = (await api("POST", "/sessions", body)).body["session"]
        await api("POST", f"/sessions/{session}/actions", {"action": "search[running]"})
        await browser.go(f"/sessions/{session}")
        assert ("Next >" in browser.page.buttons) == compat
        assert "Search" in browser.page.buttons
        await browser.press("Acme Red Running Shoes")
        await browser.press("8")
        assert pressed(browser) == ["8"]
        assert NOTICES["over"] in browser.page.text
