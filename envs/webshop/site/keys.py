"""Under which keys the application keeps what its handlers share."""

from __future__ import annotations

from aiohttp import web
from jinja2 import Environment

from envs.webshop.site.sessions import Sessions

SESSIONS = web.AppKey("sessions", Sessions)
TEMPLATES = web.AppKey("templates", Environment)
