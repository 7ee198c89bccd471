"""A catalogue that tries everything, and requests that no browser sends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envs.webshop.catalog.catalog import Catalog
from envs.webshop.site import make_app
from tests.envs.webshop.site.browsing import Browser, Html
from tests.envs.webshop.site.conftest import Answer, check

EVIL = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>&amp;&lt;{{7*7}}{% raw %}</bdi></title></svg>"
TEXTS = (
    EVIL,
    "javascript:alert(1)",
    "\x00\x1b[31m\x07\ud800 lone \udfff",
    "\u202eright to left\u202c \u200b\ufeff",
    "x" * 5000,
    " \n\r\u2028 spaces \t ",
    "]]>--><!-- search[a] click[buy now] ]",
    "e\u0301\u0301\u0301\U0001f600",
)
STRUCTURE = {"script", "img", "iframe", "object", "embed", "base", "style", "template"}


def hostile(text: str) -> Catalog:
    """A product whose every text is this one."""
    values = [{"value": text}, {"value": "buy now"}, {"value": text + "2"}]
    asin = "\"'<&[]>/?"
    item = {
        "asin": asin,
        "name": text,
        "full_description": text,
        "small_description": [text, "", text],
        "pricing": "$1.00",
        "category": text,
        "query": text,
        "product_category": text,
        "customization_options": {text: values, f"{text} b": values, "plain": [{"value": "one"}]},
        "images": [text],
    }
    wish = {"attributes": [text], "instruction": text, "instruction_attributes": [text]}
    return Catalog.from_records([item], {asin: wish})


@pytest.fixture(params=TEXTS, ids=range(len(TEXTS)))
async def shop(request: pytest.FixtureRequest) -> AsyncIterator[TestClient[Any, Any]]:
    async with TestClient(TestServer(make_app(hostile(request.param)))) as client:
        yield client


def harmless(page: Html) -> None:
    """No element or attribute but our own: everything else is text."""
    names = {name for _, attributes in page.tags for name in attributes}
    assert STRUCTURE.isdisjoint(tag for tag, _ in page.tags)
    assert not [name for name in names if name.startswith("on") or name in ("style", "srcdoc", "formaction")]
    addresses = [value for _, attributes in page.tags for name, value in attributes.items() if name in ("href", "src")]
    assert all(address and address.startswith(("/", "#content")) for address in addresses)
    assert "49" not in page.text  # what a template engine would make of EVIL


async def test_no_text_of_a_catalogue_gets_out_of_its_place(shop: TestClient[Any, Any]) -> None:
    browser = Browser(shop)
    await browser.start(split="all", goal="0")
    await browser.search("one")
    harmless(browser.page)
    await browser.send(browser.page.forms[0]["action"], {"page": "1", "product": "0"})
    assert "Buy Now" in browser.page.buttons
    harmless(browser.page)
    options = [b["value"] for form in browser.page.forms for b in form["buttons"] if b.get("name") == "option"]
    assert len(options) == 7
    for number, option in enumerate(options):
        await browser.send(browser.page.forms[0]["action"], {"page": str(2 + number), "option": option})
        harmless(browser.page)
        pressed = [b["value"] for f in browser.page.forms for b in f["buttons"] if b.get("aria-pressed") == "true"]
        assert option in pressed
    for name in ("Description", "Features", "Reviews"):
        await browser.press(name)
        harmless(browser.page)
        await browser.press("< Prev")
    await browser.press("Buy Now")
    assert "Thank you for shopping with us!" in browser.page.text
    harmless(browser.page)


async def test_what_is_searched_for_is_only_text(client: TestClient[Any, Any]) -> None:
    browser = Browser(client)
    await browser.start(split="all", goal="0")
    await browser.search(EVIL)
    harmless(browser.page)
    assert browser.page.forms[0]["fields"]["search"] == EVIL.lower()


async def test_programs_get_any_text(shop: TestClient[Any, Any]) -> None:
    created = await shop.post("/api/v1/sessions", json={"split": "all"})
    path = f"/api/v1/sessions/{(await created.json())['session']}/actions"
    for action in (
        "search[one]",
        "click[\"'<&[]>/?]",
        "click[one]",
        "click[features]",
        "click[< prev]",
        "click[buy now]",
    ):
        response = await shop.post(path, json={"action": action})
        body = await response.json()
        check("POST", path, Answer(response.status, body))
        assert body["action_valid"], body["error"]
    assert body["terminated"]


@pytest.mark.parametrize(
    "request_line",
    [
        b"GET http://example.org/ HTTP/1.1",
        b"GET /sessions/\x00 HTTP/1.1",
        b"GET /sessions/\xff\xfe HTTP/1.1",
        b"GET //example.org/ HTTP/1.1",
        b"GET /" + b"a/" * 4000 + b" HTTP/1.1",
        b"GET /?" + b"a&" * 3900 + b" HTTP/1.1",
        b"GET /sessions/x?page=%ff%00&page=2 HTTP/1.1",
        b"OPTIONS * HTTP/1.1",
        b"CONNECT localhost:80 HTTP/1.1",
        b"TRACE / HTTP/1.1",
        b"BREW / HTTP/1.1",
        b"GET / HTTP/9.9",
        b"nonsense",
    ],
)
async def test_requests_that_no_browser_sends(request_line: bytes, client: TestClient[Any, Any]) -> None:
    reader, writer = await asyncio.open_connection(client.host, client.port)
    writer.write(request_line + b"\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    status = int(answer.split()[1])
    assert 200 <= status < 500, answer
    assert (await client.get("/")).status == 200


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
FIELDS = st.sampled_from(["split", "goal", "seed", "compat", "max_steps", "action"]) | st.text(max_size=5)
BODIES = st.dictionaries(FIELDS, ANYTHING | st.sampled_from(["all", "train", 0, 1]), max_size=4) | ANYTHING
ACTIONS = st.text() | st.sampled_from(
    ["search[shoes]", "click[b000000001]", "click[buy now]", "click[8]", "search[<r>]"]
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=BODIES, actions=st.lists(ACTIONS, max_size=6), compat=st.booleans())
async def test_any_json_gets_an_answer_as_described(
    body: Any, actions: list[str], compat: bool, client: TestClient[Any, Any]
) -> None:
    for path in ("/api/v1/sessions", "/api/v1/sessions/x/actions"):
        response = await client.post(path, json=body)
        check("POST", path, Answer(response.status, await response.json()))
    created = await client.post("/api/v1/sessions", json={"split": "all", "compat": compat})
    name = (await created.json())["session"]
    for action in actions:
        path = f"/api/v1/sessions/{name}/actions"
        response = await client.post(path, json={"action": action})
        check("POST", path, Answer(response.status, await response.json()))
    page = await client.get(f"/sessions/{name}")
    assert page.status == 200
    harmless(Html(await page.text()))


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    forms=st.lists(
        st.dictionaries(
            st.sampled_from(["search", "click", "product", "option", "page", "split", "goal"]),
            st.text() | st.sampled_from(["0", "1", "0.0", "1.1", "buy now", "shoes", "back to search"]),
            max_size=3,
        ),
        max_size=6,
    )
)
async def test_any_form_gets_a_page(forms: list[dict[str, str]], client: TestClient[Any, Any]) -> None:
    browser = Browser(client)
    await browser.start(split="all", goal="0")
    session = browser.page.forms[0]["action"]
    for form in forms:
        await browser.go(session)
        current = next((form["fields"]["page"] for form in browser.page.forms if "page" in form["fields"]), "")
        for address in ("/sessions", session):
            await browser.send(address, {"page": current, **form})
            assert browser.status == 200
            harmless(browser.page)
