"""Visits to the shop, people's and agents' alike: bounded in number and in idle time."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from aes.errors import UsageError
from envs.webshop.catalog.catalog import Catalog
from envs.webshop.catalog.goals import Goal, GoalKind
from envs.webshop.catalog.splits import SPLITS, Split, split_range
from envs.webshop.shop.actions import parse, parse_strictly
from envs.webshop.shop.shop import TextShop
from envs.webshop.site.refusal import Refusal

MAX_SESSIONS = 4096
"""Sessions kept; one more drops the one unused for longest."""

IDLE_S = 3600.0
"""Seconds without a request after which a session is dropped."""

_LONG_QUERY = 500


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an action, or the reset, came to: `TextShop.step`'s answer without what the shop itself still knows."""

    observation: str
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
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
            self.latest = Outcome(
                observation, reward, terminated, truncated, action_valid=info["action_valid"], error=info["error"]
            )
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


class Sessions:
    """Opens, finds and forgets sessions on one catalogue; `clock` gives seconds.

    Construction builds whatever of the catalogue is still to be built: up to minutes for a million products.
    Raises DataError when it has no goals of this kind.
    """

    def __init__(
        self,
        catalog: Catalog,
        *,
        kind: GoalKind = "synthetic",
        capacity: int = MAX_SESSIONS,
        idle_s: float = IDLE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.catalog = catalog
        self.kind: GoalKind = kind
        self.capacity = capacity
        self.idle_s = idle_s
        self._clock = clock
        self._open: OrderedDict[str, Session] = OrderedDict()  # the one unused for longest comes first
        self._places = {split: split_range(split, len(catalog.goals(kind, "all"))) for split in SPLITS}
        self.goals: Mapping[Split, Sequence[Goal]] = {
            split: catalog.goals(kind, split) for split, places in self._places.items() if places
        }
        self._warm()

    def __len__(self) -> int:
        self._forget_idle()
        return len(self._open)

    def split_of(self, goal: Goal) -> Split:
        """Return the split that a goal belongs to, whichever it was drawn from."""
        return next(split for split, places in self._places.items() if goal.index in places)

    async def open(
        self, split: Split, goal: int | None = None, seed: int | None = None, compat: bool = False
    ) -> Session:
        """Begin a session with a goal of a split: its position there, or one drawn by weight.

        Raises Refusal when there is no such goal.
        """
        if split not in self.goals:
            raise Refusal(422, "empty_split", f"no goals in split {split!r}; take one of {', '.join(self.goals)}")
        shop = TextShop(self.catalog, compat, goals=self.goals[split])
        try:
            observation, _ = await asyncio.to_thread(shop.reset, goal, seed=seed)  # a draw walks through all goals
        except UsageError as error:
            raise Refusal(422, "no_such_goal", f"{error}, in split {split!r}") from None
        session = Session(secrets.token_urlsafe(18), shop, Outcome(observation), self._clock())
        self._forget_idle()
        if len(self._open) >= self.capacity:
            self._open.popitem(last=False)
        self._open[session.id] = session
        return session

    def get(self, name: str) -> Session:
        """Return a session and count it as used now. Raises Refusal for one that is not there, or no more."""
        self._forget_idle()
        session = self._open.get(name)
        if session is None:
            raise Refusal(404, "no_such_session", self._gone)
        session.used_at = self._clock()
        self._open.move_to_end(name)
        return session

    def close(self, name: str) -> None:
        """End a session. Raises Refusal as `get` does."""
        del self._open[self.get(name).id]

    def _warm(self) -> None:
        """Build what the catalogue builds when it is first asked."""
        self.catalog.search("")
        self.catalog.listing("category", "")
        self.fingerprint = self.catalog.fingerprint

    @property
    def _gone(self) -> str:
        return (
            f"no such session; sessions end when closed, after {self.idle_s / 60:.0f} idle minutes, or when"
            f" {self.capacity:,} newer ones are in use: open a new one"
        )

    def _forget_idle(self) -> None:
        oldest_allowed = self._clock() - self.idle_s
        while self._open and next(iter(self._open.values())).used_at < oldest_allowed:
            self._open.popitem(last=False)
