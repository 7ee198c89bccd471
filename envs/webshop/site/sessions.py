"""Visits to the shop, people's and agents' alike: bounded in number and in idle time."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from aes.errors import UsageError
from envs.webshop.catalog.catalog import Catalog
from envs.webshop.catalog.goals import Goal, GoalKind
from envs.webshop.catalog.splits import SPLITS, Split, split_range
from envs.webshop.shop.shop import TextShop
from envs.webshop.site.refusal import Refusal
from envs.webshop.site.session import Outcome, Session

MAX_SESSIONS = 4096
"""Sessions kept; one more drops the one unused for longest."""

IDLE_S = 3600.0
"""Seconds without a request after which a session is dropped."""


class Opening(BaseModel):
    """Which session to open."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    split: Split = "train"
    goal: Annotated[int | None, Field(ge=0, lt=2**53, description="Position in the split; drawn if not given.")] = None
    seed: Annotated[int | None, Field(ge=0, lt=2**53, description="Seed of all draws.")] = None
    max_steps: Annotated[int | None, Field(ge=1, lt=2**53, description="Actions until the episode is truncated.")] = (
        None
    )
    compat: Annotated[bool, Field(description="The original's rules.")] = False


class Sessions:
    """Opens, finds and forgets sessions on one catalogue; `clock` gives seconds.

    Construction builds whatever of the catalogue is still to be built: up to minutes for a million products.
    Raises DataError when it has no goals of this kind, UsageError for bounds that let nothing in.
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
        if capacity < 1 or not idle_s > 0:
            raise UsageError(f"max_sessions {capacity}, idle_s {idle_s}: both must be more than 0")
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

    async def open(self, opening: Opening) -> Session:
        """Begin a session. Raises Refusal when there is no such goal."""
        split = opening.split
        if split not in self.goals:
            raise Refusal(422, "empty_split", f"no goals in split {split!r}; take one of {', '.join(self.goals)}")
        shop = TextShop(self.catalog, opening.compat, goals=self.goals[split], max_steps=opening.max_steps)
        try:
            observation, _ = await asyncio.to_thread(shop.reset, opening.goal, seed=opening.seed)  # the first draw sums
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
