"""What a request's body says: JSON for programs, form fields for people. Nothing else is read."""

from __future__ import annotations

from typing import Any, TypeVar
from urllib.parse import parse_qsl

from aiohttp import web
from pydantic import BaseModel, ValidationError

from aes.config import nearest
from envs.webshop.site.refusal import Refusal

MAX_BODY = 64 * 1024
"""Bytes of a request's body; more is refused."""

_FORM = "application/x-www-form-urlencoded"
_SHOWN = 80


Body = TypeVar("Body", bound=BaseModel)


async def read_json(request: web.Request, kind: type[Body]) -> Body:
    """Read a JSON object of this kind. Raises Refusal (415, 400, 422), HTTPRequestEntityTooLarge."""
    if request.content_type != "application/json":
        raise Refusal(415, "not_json", "send the body as JSON, with the header Content-Type: application/json")
    content = await request.read()
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        problem: Any = error.errors(include_url=False, include_context=False)[0]
    if problem["type"] == "json_invalid":
        raise Refusal(400, "bad_json", problem["msg"])
    name = ".".join(map(str, problem["loc"]))
    if problem["type"] == "extra_forbidden":
        raise Refusal(422, "unknown_field", f"unknown field {name[:_SHOWN]!r}{nearest(name, kind.model_fields)}")
    subject = f"field {name!r}" if name else "the body"
    seen = "" if problem["type"] == "missing" else f", but is {problem['input']!r:.{_SHOWN}}"
    raise Refusal(422, "bad_field", f"{subject}: {problem['msg']}{seen}")


async def read_form(request: web.Request) -> dict[str, str]:
    """Read a form's fields, as UTF-8 whatever it claims to be. Raises Refusal (415), HTTPRequestEntityTooLarge."""
    if request.content_type != _FORM:
        raise Refusal(415, "not_a_form", f"send the fields as {_FORM}")
    content = await request.read()
    return dict(parse_qsl(content.decode("utf-8", "replace"), keep_blank_values=True))
