"""The shop's server in this process, with what a browser and a program do to it."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib.resources import files
from typing import Any, NamedTuple

import pytest
from aiohttp.test_utils import TestClient, TestServer

from envs.webshop.catalog.catalog import Catalog
from envs.webshop.site import make_app
from tests.envs.webshop.site.browsing import Browser

Client = TestClient[Any, Any]

OPENAPI: dict[str, Any] = json.loads(files("envs.webshop.site").joinpath("openapi.json").read_text(encoding="utf-8"))


class Answer(NamedTuple):
    status: int
    body: Any


Api = Callable[..., Awaitable[Answer]]


@pytest.fixture
async def client(catalog: Catalog) -> AsyncIterator[Client]:
    async with TestClient(TestServer(make_app(catalog))) as client:
        yield client


@pytest.fixture
def browser(client: Client) -> Browser:
    return Browser(client)


@pytest.fixture
def api(client: Client) -> Api:
    """Send JSON, check that the answer is as `openapi.json` says, and return it."""

    async def call(method: str, path: str, body: Any = None, **options: Any) -> Answer:
        sent = options if options or body is None else {"json": body}
        response = await client.request(method, f"/api/v1{path}", **sent)
        if response.status == 204:
            return Answer(204, None)
        assert response.content_type == "application/json"
        answer = Answer(response.status, await response.json())
        check(method, f"/api/v1{path}", answer)
        return answer

    return call


def check(method: str, path: str, answer: Answer) -> None:
    """Hold an answer against the description; an address or method it does not have is answered with an error."""
    if importlib.util.find_spec("jsonschema") is None:
        return
    operation = next((found[method.lower()] for found in _paths(path) if method.lower() in found), None)
    if operation is None:
        schema = {"$ref": "#/components/schemas/Error"}
    else:
        schema = operation["responses"][str(answer.status)]["content"]["application/json"]["schema"]
    validator: Any = importlib.import_module("jsonschema").Draft202012Validator
    validator({**schema, "components": OPENAPI["components"]}).validate(answer.body)


def _paths(path: str) -> list[dict[str, Any]]:
    parts = path.split("/")
    patterns = [(pattern.split("/"), found) for pattern, found in OPENAPI["paths"].items()]
    return [
        found
        for pattern, found in patterns
        if len(pattern) == len(parts) and all(p == q or p.startswith("{") for p, q in zip(pattern, parts, strict=True))
    ]
