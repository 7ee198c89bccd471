"""Every failure as an answer: JSON for programs, a page for people."""

from __future__ import annotations

import logging

from aiohttp import web
from aiohttp.typedefs import Handler

from envs.webshop.site.refusal import Refusal
from envs.webshop.site.rendering import page
from envs.webshop.site.requests import MAX_BODY

_LOG = logging.getLogger(__name__)

_KNOWN = {
    404: ("not_found", "there is nothing at this address"),
    405: ("method_not_allowed", "this address does not take that method"),
    413: ("too_large", f"the body is too large; send at most {MAX_BODY:,} bytes"),
}
_BUG = Refusal(500, "internal", "something went wrong in the shop; its log says what")


@web.middleware
async def explain_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer what could not be answered; a bug is logged with its traceback and told as a bug."""
    try:
        return await handler(request)
    except Refusal as refusal:
        return _answer(request, refusal)
    except web.HTTPException as error:
        if error.status < 400:
            raise
        code, message = _KNOWN.get(error.status, ("refused", error.reason))
        response = _answer(request, Refusal(error.status, code, message))
        if "Allow" in error.headers:
            response.headers["Allow"] = error.headers["Allow"]
        return response
    except Exception:
        _LOG.exception("%s %r failed", request.method, request.path)
        return _answer(request, _BUG)


def _answer(request: web.Request, refusal: Refusal) -> web.Response:
    if _for_programs(request):
        error = {"code": refusal.code, "message": str(refusal)}
        return web.json_response({"error": error}, status=refusal.status)
    return page(request, "error.html", status=refusal.status, status_code=refusal.status, message=str(refusal))


def _for_programs(request: web.Request) -> bool:
    api = request.app.router["api"].url_for().path.removesuffix("v1/sessions")
    return request.path.startswith(api)
