"""The shop over HTTP: WebShop's site for people and a JSON API for agents, on one state machine."""

from envs.webshop.site.app import make_app
from envs.webshop.site.sessions import IDLE_S, MAX_SESSIONS

__all__ = ["IDLE_S", "MAX_SESSIONS", "make_app"]
