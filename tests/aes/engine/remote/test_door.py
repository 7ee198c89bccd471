"""The door: nobody comes in without the token, nothing comes in that is too large."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from aes.engine.remote import wire
from aes.engine.remote.door import Door
from tests.aes.engine.remote.serving import TOKEN, FakeHost, Serving, nothing

KEY = {"Authorization": f"Bearer {TOKEN}"}


@pytest_asyncio.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with Serving() as server, aiohttp.ClientSession(server.url) as session:
        yield session


async def test_vllm_itself_is_behind_the_door_too(client: aiohttp.ClientSession) -> None:
    for path in ("/v1/completions", "/collective_rpc", "/metrics", "/docs", "/", "/aes/hello", "/healthy"):
        async with client.post(path) as response:
            assert response.status == 401
            assert (await response.json(content_type=None))["error"] == "token"
    async with client.get("/v1/models", headers=KEY) as response:
        assert await response.text() == "vLLM"
    async with client.get("/health") as response:
        assert await response.text() == "vLLM"


@pytest.mark.parametrize("sent", ["", "Bearer", "Bearer ", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x", "Bearer \xe9"])
async def test_what_is_no_token(client: aiohttp.ClientSession, sent: str) -> None:
    async with client.post("/aes/hello", headers={"Authorization": sent}) as response:
        assert response.status == 401
        assert TOKEN not in await response.text()


async def test_a_call_that_is_none(client: aiohttp.ClientSession) -> None:
    async with client.post("/aes/open", headers=KEY, data=b'{"driver":"me","lora":{}}') as response:
        key = KEY | {wire.LEASE: json.loads(await response.text())["lease"]}
    async with client.post("/aes/nothing", headers=key, data=b"{}") as response:
        assert (response.status, await response.text()) == (
            404,
            '{"error":"call","message":"no such call: \'nothing\'"}',
        )
    async with client.post("/aes/generate", headers=key, data=b"{}") as response:
        assert response.status == 400
        assert "member: Field required" in await response.text()
    async with client.post("/aes/open", headers=KEY, data=b'{"driver":"me","lora":{"rank":0}}') as response:
        assert response.status == 400
        assert "rank" in await response.text()


def scope(path: str = "/aes/hello", kind: str = "http", **headers: str) -> dict[str, Any]:
    raw = [(key.encode(), value.encode()) for key, value in headers.items()]
    return {"type": kind, "method": "POST", "path": path, "headers": raw}


async def told(door: Door, scope: dict[str, Any], messages: Sequence[dict[str, Any]] = ()) -> list[Any]:
    """What the door sends for what it receives; after that whoever called is gone."""
    waiting, sent = list(messages), list[Any]()

    async def receive() -> dict[str, Any]:
        return waiting.pop(0) if waiting else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    await door(scope, receive, send)
    return sent


def part(body: bytes, more: bool) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": more}


async def test_a_body_that_never_ends_is_cut_off() -> None:
    door = Door(nothing, FakeHost(), TOKEN)
    endless = [part(b"x" * (1 << 20), True)] * 17
    start, body = await told(door, scope(authorization=f"Bearer {TOKEN}"), endless)
    assert start["status"] == 413
    assert b"more than 16,777,216 bytes" in body["body"]


async def test_a_caller_who_goes_before_he_has_said_all_gets_no_answer() -> None:
    door = Door(nothing, FakeHost(), TOKEN)
    assert await told(door, scope(authorization=f"Bearer {TOKEN}"), [part(b"{", True)]) == []


async def test_a_web_socket_needs_the_token_too() -> None:
    door = Door(nothing, FakeHost(), TOKEN)
    assert [m["type"] for m in await told(door, scope("/v1/realtime", "websocket"))] == ["websocket.close"]


async def test_only_health_itself_is_open() -> None:
    door = Door(nothing, FakeHost(), TOKEN)
    for path, status in (("/health", 200), ("//health", 401), ("/health/", 401), ("/aes/health", 401)):
        assert (await told(door, scope(path)))[0]["status"] == status


async def test_two_tokens_are_none() -> None:
    door = Door(nothing, FakeHost(), TOKEN)
    doubled = scope(authorization=f"Bearer {TOKEN}")
    doubled["headers"] *= 2
    assert (await told(door, doubled))[0]["status"] == 401


async def test_a_path_under_a_prefix_is_found() -> None:
    door = Door(nothing, FakeHost(), TOKEN)
    behind = scope("/engine/aes/hello", authorization=f"Bearer {TOKEN}") | {"root_path": "/engine"}
    staying = [part(b"", False)]

    async def stay() -> Any:
        return staying.pop() if staying else await asyncio.Event().wait()

    sent = list[Any]()

    async def send(message: Any) -> None:
        sent.append(message)

    await door(behind, stay, send)
    assert sent[0]["status"] == 200
    assert wire.Hello.model_validate_json(sent[1]["body"]).wire == wire.WIRE


async def test_a_bug_is_told_in_one_line_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(FakeHost):
        async def hello(self, guest: str) -> wire.Hello:
            raise ZeroDivisionError("oh\nno")

    async with (
        Serving(Broken()) as server,
        aiohttp.ClientSession(server.url) as session,
        session.post("/aes/hello", headers=KEY) as response,
    ):
        assert (response.status, await response.text()) == (500, '{"error":"engine","message":"oh no"}')
    assert "a call to hello failed" in caplog.text
