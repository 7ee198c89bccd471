"""One visit to the shop, a person's or an agent's."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from envs.webshop.shop.actions import parse, parse_strictly
from envs.webshop.shop.shop import TextShop

_LONG_QUERY = 500


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an action, or the reset, came to: `TextShop.step`'s answer without what the shop itself still knows."""

    observation: str
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    reason: str = ""
    action_valid: bool = True
    error: str = ""


@dataclass(slots=True)
class Session:
    """One episode in the shop.

    `pages` counts the actions that did something, so that a form can tell whether its page is still the current one.
    """

    id: str
    shop: TextShop
    latest: Outcome
    used_at: float
    pages: int = 0
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def act(self, text: str) -> Outcome:
        """Take an action, after those that came before it; a search that may take long runs off the event loop.

        Cancelled, it has either happened whole or not at all.
        """
        async with self._turn:
            await self._prepare(text)
            observation, reward, terminated, truncated, info = self.shop.step(text)
            told = info["reason"], info["action_valid"], info["error"]
            self.latest = Outcome(observation, reward, terminated, truncated, *told)
            self.pages += self.latest.action_valid
            return self.latest

    async def _prepare(self, text: str) -> None:
        """Have the search that the step will ask for in the catalogue's cache."""
        action = parse_strictly(text) if self.shop.compat else parse(text)
        if action is None:
            return
        # The compatible form searches anew for every page of results.
        query = action.argument if action.verb == "search" else self.shop.state.query * self.shop.compat
        if len(query) > _LONG_QUERY:
            await asyncio.to_thread(self.shop.catalog.search, query)
        elif query:
            await self.shop.catalog.prefetch(query)
