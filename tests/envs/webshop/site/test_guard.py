from __future__ import annotations

import pytest
from aiohttp.test_utils import TestClient, TestServer

from envs.webshop.catalog.catalog import Catalog
from envs.webshop.site import make_app
from envs.webshop.site.guard import HEADERS
from tests.envs.webshop.site.conftest import Client


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:3000", "127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:3000", "localhost:1"]
)
async def test_our_own_names(host: str, client: Client) -> None:
    for path in ("/", "/api/v1/health"):
        assert (await client.get(path, headers={"Host": host})).status == 200


@pytest.mark.parametrize(
    "host",
    ["example.org", "127.0.0.1.example.org", "localhost.", "", "a b", "[", "user@localhost@x", "0.0.0.0", "x" * 900],
)
async def test_foreign_names(host: str, client: Client) -> None:
    page = await client.get("/", headers={"Host": host})
    assert (page.status, page.content_type) == (403, "text/html")
    answer = await client.get("/api/v1/health", headers={"Host": host})
    assert answer.status == 403
    assert (await answer.json())["error"]["code"] == "foreign_host"


async def test_names_given_or_none(catalog: Catalog) -> None:
    async with TestClient(TestServer(make_app(catalog, hosts=("Shop.Example",)))) as client:
        assert (await client.get("/", headers={"Host": "shop.example:8080"})).status == 200
        assert (await client.get("/", headers={"Host": "localhost"})).status == 403
    async with TestClient(TestServer(make_app(catalog, hosts=None))) as client:
        assert (await client.get("/", headers={"Host": "any.example"})).status == 200


@pytest.mark.parametrize(
    "origin", ["http://example.org", "null", "", "http://localhost:1", "http://localhost.example.org", "file://", "["]
)
async def test_changes_from_elsewhere(origin: str, client: Client) -> None:
    headers = {"Origin": origin, "Host": "localhost:3000"}
    page = await client.post("/sessions", data={"split": "all"}, headers=headers)
    assert (page.status, page.content_type) == (403, "text/html")
    for method, path in (("POST", "/sessions"), ("DELETE", "/sessions/x"), ("POST", "/sessions/x/actions")):
        answer = await client.request(method, f"/api/v1{path}", json={}, headers=headers)
        assert answer.status == 403
        assert (await answer.json())["error"]["code"] == "foreign_origin"
    assert (await client.get("/", headers=headers)).status == 200  # reading is the browser's to forbid
    assert (await (await client.get("/api/v1/health")).json())["sessions"] == 0


@pytest.mark.parametrize("origin", ["http://localhost:3000", "https://localhost:3000"])
async def test_changes_from_our_own_pages(origin: str, client: Client) -> None:
    headers = {"Origin": origin, "Host": "localhost:3000"}
    assert (await client.post("/api/v1/sessions", json={"split": "all"}, headers=headers)).status == 201


@pytest.mark.parametrize(
    "path",
    ["/", "/nowhere", "/static/style.css", "/static/icon.svg", "/api/v1/health", "/api/v1/nowhere", "/sessions/x"],
)
async def test_every_answer_is_hardened(path: str, client: Client) -> None:
    response = await client.get(path)
    assert {name: response.headers.get(name) for name in HEADERS} == HEADERS
    assert "script" not in HEADERS["Content-Security-Policy"]
    assert HEADERS["Content-Security-Policy"].startswith("default-src 'none';")
