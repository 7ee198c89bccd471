"""The shop for people: a form per action, a redirect, a page, so that reloading never repeats anything.

The page shown is always the session's current one. A form carries the number of the page it stood on: sent from
another page (an old tab, the back button) it changes nothing and is answered with the current page and a notice.
"""

from __future__ import annotations

from aiohttp import web

from envs.webshop.shop.state import Page
from envs.webshop.site.buttons import action_of
from envs.webshop.site.keys import SESSIONS
from envs.webshop.site.rendering import page
from envs.webshop.site.requests import read_form
from envs.webshop.site.sessions import Opening
from envs.webshop.site.verdict import Verdict

NOTICES = {
    "words": "Type what you are looking for, then search.",
    "moved": "The shop has moved on since that page. This is where you are now; nothing has been changed.",
    "nothing": "There is no such button on this page. Nothing has been changed.",
    "over": "This session is over: it has reached its step limit without a purchase.",
    "goal": "There is no such goal. Take a number from the range shown, or leave it empty for a random one.",
}
"""What a page may have to say about the action before it, by the word in its address."""

_TEMPLATES = {
    Page.INDEX: "search.html",
    Page.RESULTS: "results.html",
    Page.ITEM: "item.html",
    Page.SUBPAGE: "subpage.html",
    Page.DONE: "done.html",
}


async def start(request: web.Request) -> web.Response:
    """Show what this is and how to begin."""
    return page(request, "start.html", sessions=request.app[SESSIONS], notice=_notice(request))


async def begin(request: web.Request) -> web.Response:
    """Open a session with the goal asked for."""
    form = await read_form(request)
    number = form.get("goal", "").strip()
    try:
        goal = int(number) if number else None
        opening = Opening.model_validate({"split": form.get("split"), "goal": goal})
        session = await request.app[SESSIONS].open(opening)
    except ValueError:  # no such split, no number, or a refusal
        return _go(request, "start", notice="goal")
    return _go(request, "session", session=session.id)


async def show(request: web.Request) -> web.Response:
    """Show the current page of a session, whichever page its address is of."""
    sessions = request.app[SESSIONS]
    session = sessions.get(request.match_info["session"])
    shop, state = session.shop, session.shop.state
    allowed = shop.available_actions
    moved = request.query.get("page", str(session.pages)) != str(session.pages)
    return page(
        request,
        _TEMPLATES[state.page],
        session=session,
        shop=shop,
        state=state,
        goal=shop.goal,
        split=sessions.split_of(shop.goal),
        clickables=frozenset(allowed.clickables),
        may_search=allowed.search or (shop.compat and state.page is not Page.DONE),
        products=sessions.catalog.products,
        verdict=Verdict.of(shop),
        notice=NOTICES["over"] if session.latest.truncated else NOTICES["moved"] if moved else _notice(request),
    )


async def act(request: web.Request) -> web.Response:
    """Do what a form asks for, and go to the page it leads to."""
    form = await read_form(request)
    session = request.app[SESSIONS].get(request.match_info["session"])
    name = session.id
    if form.get("page") != str(session.pages):
        return _go(request, "session", session=name, notice="moved")
    if "search" in form and not form["search"].strip():
        return _go(request, "session", session=name, notice="words")
    action = action_of(form, session.shop)
    if action is None or not (await session.act(action)).action_valid:
        return _go(request, "session", session=name, notice="nothing")
    return _go(request, "session", session=name, page=str(session.pages))


def _go(request: web.Request, route: str, *, session: str = "", **query: str) -> web.Response:
    """See other: the browser fetches the page by itself, and reloading it does nothing but that."""
    parts = {"session": session} if session else {}
    where = request.app.router[route].url_for(**parts).with_query(query)
    return web.Response(status=303, headers={"Location": str(where)})


def _notice(request: web.Request) -> str:
    return NOTICES.get(request.query.get("notice", ""), "")
