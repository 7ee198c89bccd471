"""The description of the API and the API itself, held together."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pydantic import BaseModel

from envs.webshop.catalog.catalog import Catalog
from envs.webshop.site import IDLE_S, MAX_SESSIONS, make_app
from envs.webshop.site.api import Acting
from envs.webshop.site.requests import MAX_BODY
from envs.webshop.site.sessions import Opening
from tests.envs.webshop.site.conftest import OPENAPI, Api, Client


def test_every_route_is_described_and_every_description_has_a_route(catalog: Catalog) -> None:
    routes = {
        (route.method, route.resource.canonical)
        for route in make_app(catalog).router.routes()
        if route.resource and route.resource.canonical.startswith("/api/") and route.method != "HEAD"
    }
    described = {(method.upper(), path) for path, found in OPENAPI["paths"].items() for method in found}
    assert routes == described


@pytest.mark.parametrize(("model", "name"), [(Opening, "Opening"), (Acting, "Action")])
def test_bodies_are_described_as_they_are_read(model: type[BaseModel], name: str) -> None:
    read, described = model.model_json_schema(), OPENAPI["components"]["schemas"][name]
    assert described["additionalProperties"] is read["additionalProperties"] is False
    assert described["required"] == read.get("required", [])
    assert list(described["properties"]) == list(read["properties"])
    for key, schema in read["properties"].items():
        assert limits(described["properties"][key]) == limits(schema), key


def limits(schema: dict[str, Any]) -> dict[str, Any]:
    """What a property may be, however it is put."""
    parts = schema.pop("anyOf", [schema])
    merged = {key: value for part in (schema, *parts) for key, value in part.items()}
    kinds = merged.pop("type", None)
    types = {part["type"] for part in parts if "type" in part} if len(parts) > 1 else kinds
    return {
        "types": None if "enum" in merged else {types} if isinstance(types, str) else set(types),
        **{key: merged[key] for key in ("default", "enum", "minimum", "exclusiveMaximum") if key in merged},
    }


def test_numbers_in_words_are_those_in_the_code() -> None:
    words = OPENAPI["info"]["description"]
    assert f"{MAX_SESSIONS:,} newer ones" in words
    assert "an hour" in words
    assert IDLE_S == 3600
    action = OPENAPI["paths"]["/api/v1/sessions/{session}/actions"]["post"]
    assert f"{MAX_BODY // 1024} KiB" in action["responses"]["413"]["description"]


def test_every_reference_leads_somewhere() -> None:
    schemas = OPENAPI["components"]["schemas"]
    used = set(re.findall(r"'#/components/schemas/(\w+)'", str(OPENAPI)))
    assert used == set(schemas)


async def test_it_is_served(client: Client) -> None:
    response = await client.get("/api/v1/openapi.json")
    assert response.content_type == "application/json"
    assert await response.json() == OPENAPI


async def test_it_is_a_valid_schema(api: Api) -> None:
    validator = pytest.importorskip(
        "jsonschema", reason="answers are not held against their schemas"
    ).Draft202012Validator
    for schema in OPENAPI["components"]["schemas"].values():
        validator.check_schema(schema)
    with pytest.raises(Exception, match="'session' is a required property"):  # what conftest's check would say
        validator({**OPENAPI["components"]["schemas"]["Session"], "components": OPENAPI["components"]}).validate({})
