"""The endpoint as an aiohttp application: an episode's address answers as OpenAI's does."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from itertools import count

from aiohttp import web
from aiohttp.typedefs import Handler

from aes.endpoint import answer, wire
from aes.endpoint.answer import Answer
from aes.endpoint.door import OVER, Door
from aes.endpoint.refusal import Refusal, refusal_of
from aes.errors import AesError

MAX_BODY = 16 * 1024 * 1024
"""Bytes of a request's body; more is refused."""

_LOG = logging.getLogger(__name__)
_BUG = Refusal(500, "internal", "something went wrong in the endpoint; the log of aes.endpoint.app says what")


def make_app(door_of: Callable[[str], Door | None]) -> web.Application:
    """Make the application; `door_of` finds an episode's door by its token."""
    api = Api(door_of)
    app = web.Application(middlewares=(explain_errors,), client_max_size=MAX_BODY)
    for prefix in ("/{token}/v1", "/v1"):
        app.add_routes([web.get(f"{prefix}/models", api.models), web.post(f"{prefix}/chat/completions", api.complete)])
    return app


class Api:
    """The handlers. A token in the path or as the bearer's key says which episode a request is of."""

    def __init__(self, door_of: Callable[[str], Door | None]) -> None:
        self._door_of = door_of
        self._numbers = count(1)

    async def models(self, request: web.Request) -> web.Response:
        """Say that there is one model."""
        self._door(request)
        return web.json_response(answer.models())

    async def complete(self, request: web.Request) -> web.StreamResponse:
        """Have the episode's member answer. A client that goes away aborts its request."""
        door = self._door(request)
        asked = wire.read(await request.read())
        reply = await door.complete(
            [said.message for said in asked.messages],
            max_tokens=asked.max_completion_tokens or asked.max_tokens,
            temperature=asked.temperature,
            seed=asked.seed,
            stop=asked.stops,
            structured=asked.form,
            tools=asked.tools_told,
        )
        made = Answer(f"chatcmpl-{next(self._numbers)}", reply, asked.stops, bool(asked.tools_told))
        if not asked.stream:
            return web.json_response(made.whole())
        return await _stream(request, made, asked.stream_options.include_usage)

    def _door(self, request: web.Request) -> Door:
        key = request.headers.get("Authorization", "").removeprefix("Bearer ")
        door = self._door_of(request.match_info.get("token", key))
        if door is None:
            raise OVER
        return door


@web.middleware
async def explain_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer what could not be answered; a bug is logged with its traceback and told as a bug."""
    try:
        return await handler(request)
    except AesError as error:
        return _refuse(refusal_of(error))
    except web.HTTPException as error:
        return _refuse(Refusal(error.status, error.reason.lower().replace(" ", "_"), error.reason))
    except Exception:
        _LOG.exception("a request to the endpoint failed")
        return _refuse(_BUG)


def _refuse(refusal: Refusal) -> web.Response:
    """An error; clients of OpenAI's make are told not to try again by themselves."""
    return web.json_response(refusal.body, status=refusal.status, headers={"x-should-retry": "false"})


async def _stream(request: web.Request, made: Answer, include_usage: bool) -> web.StreamResponse:
    """Send server-sent events, one a chunk."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
    await response.prepare(request)
    for chunk in made.chunks(include_usage):
        await response.write(f"data: {json.dumps(chunk)}\n\n".encode())
    await response.write(b"data: [DONE]\n\n")
    await response.write_eof()
    return response
