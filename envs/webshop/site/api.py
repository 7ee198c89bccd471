"""The shop for programs: create, observe, act, close, in JSON; `openapi.json` beside this file describes it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from aiohttp import web
from pydantic import BaseModel, ConfigDict

from envs.webshop.site.keys import SESSIONS
from envs.webshop.site.requests import read_json
from envs.webshop.site.session import Session
from envs.webshop.site.sessions import Opening, Sessions


class Acting(BaseModel):
    """What to do in a session."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    action: str


async def health(request: web.Request) -> web.Response:
    """Say what is being served."""
    sessions = request.app[SESSIONS]
    return web.json_response(
        {
            "status": "ok",
            "catalog": sessions.fingerprint,
            "products": len(sessions.catalog.products),
            "goal_kind": sessions.kind,
            "goals": {split: len(goals) for split, goals in sessions.goals.items()},
            "sessions": len(sessions),
            "max_sessions": sessions.capacity,
            "idle_s": sessions.idle_s,
        }
    )


async def create(request: web.Request) -> web.Response:
    """Open a session and show its first page."""
    sessions = request.app[SESSIONS]
    session = await sessions.open(await read_json(request, Opening))
    where = request.app.router["api"].url_for() / session.id
    return web.json_response(_shown(session, sessions), status=201, headers={"Location": str(where)})


async def observe(request: web.Request) -> web.Response:
    """Show again what the last action came to."""
    sessions = request.app[SESSIONS]
    return web.json_response(_shown(sessions.get(request.match_info["session"]), sessions))


async def act(request: web.Request) -> web.Response:
    """Take an action; one that cannot be done changes nothing and is explained in `error`."""
    acting = await read_json(request, Acting)
    sessions = request.app[SESSIONS]
    session = sessions.get(request.match_info["session"])
    await session.act(acting.action)
    return web.json_response(_shown(session, sessions))


async def close(request: web.Request) -> web.Response:
    """End a session."""
    request.app[SESSIONS].close(request.match_info["session"])
    return web.Response(status=204)


def _shown(session: Session, sessions: Sessions) -> dict[str, Any]:
    shop, score = session.shop, session.shop.score
    return {
        "session": session.id,
        **asdict(session.latest),
        "available_actions": shop.available_actions._asdict(),
        "goal": {
            "id": shop.goal.id,
            "index": shop.goal.index,
            "split": sessions.split_of(shop.goal),
            "instruction": shop.goal.instruction,
        },
        "compat": shop.compat,
        "max_steps": shop.max_steps,
        "catalog": sessions.fingerprint,
        "score": None if score is None else {**asdict(score), "success": score.success},
    }
