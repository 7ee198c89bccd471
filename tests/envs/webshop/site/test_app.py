from __future__ import annotations

import logging
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from aes.errors import DataError
from envs.webshop.catalog.catalog import Catalog
from envs.webshop.site import make_app
from tests.envs.webshop.site.browsing import Browser
from tests.envs.webshop.site.conftest import Client


async def test_mounted_in_another_application(catalog: Catalog) -> None:
    """Every address on its pages has the prefix, and errors outside it stay the other application's."""
    outer = web.Application()
    outer.add_subapp("/a/shop", make_app(catalog))
    outer.add_subapp("/b", make_app(catalog, max_sessions=1))
    async with TestClient(TestServer(outer)) as client:
        browser = Browser(client)
        await browser.go("/a/shop/")
        await browser.press("Start shopping", split="all", goal="0")
        assert browser.address.startswith("/a/shop/sessions/")
        await browser.search("lamp")
        await browser.press("Garden Lamp")
        assert "Buy Now" in browser.page.buttons
        for _, attributes in browser.page.tags:
            for name in ("href", "action"):
                assert attributes.get(name, "/a/shop/").startswith(("/a/shop/", "#"))  # type: ignore[union-attr]
        answer = await client.post("/a/shop/api/v1/sessions", json={"split": "all"})
        assert answer.headers["Location"].startswith("/a/shop/api/v1/sessions/")
        assert (await (await client.get("/a/shop/api/v1/nowhere")).json())["error"]["code"] == "not_found"
        assert (await client.get("/a/shop/nowhere")).content_type == "text/html"
        assert (await client.get("/nowhere")).content_type == "text/plain"
        health = [await (await client.get(f"{prefix}/api/v1/health")).json() for prefix in ("/a/shop", "/b")]
        assert [(found["sessions"], found["max_sessions"]) for found in health] == [(2, 4096), (0, 1)]


async def test_a_bug_is_told_as_one_and_logged(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("a secret of the code")

    created = await client.post("/api/v1/sessions", json={"split": "all"})
    name = (await created.json())["session"]
    monkeypatch.setattr("envs.webshop.shop.shop.TextShop.available_actions", property(broken))
    with caplog.at_level(logging.ERROR):
        page = await client.get(f"/sessions/{name}")
        answer = await client.get(f"/api/v1/sessions/{name}")
    assert (page.status, page.content_type) == (500, "text/html")
    assert "secret" not in await page.text()
    assert answer.status == 500
    assert (await answer.json()) == {
        "error": {"code": "internal", "message": "something went wrong in the shop; its log says what"}
    }
    assert caplog.text.count("RuntimeError: a secret of the code") == 2


def test_goals_are_looked_for_at_once(catalog: Catalog) -> None:
    assert make_app(catalog, kind="human")
    with pytest.raises(DataError, match="no human goals"):
        make_app(Catalog.generate(20), kind="human")


async def test_head_and_unknown_methods(client: Client) -> None:
    head = await client.head("/")
    assert head.status == 200
    assert await head.read() == b""
    refused = await client.request("PATCH", "/")
    assert (refused.status, refused.content_type) == (405, "text/html")
    assert refused.headers["Allow"] == "GET,HEAD"
