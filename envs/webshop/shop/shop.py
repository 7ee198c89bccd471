"""The shop as a text environment: one episode at a time, a pure state machine over a shared catalogue.

INDEX --search--> RESULTS --asin--> ITEM --description, features, reviews--> SUBPAGE
^                 ^  next >, < prev  |  option: chosen, stays                 |
|                 `----- < prev -----'<-------------- < prev -----------------'
`-- back to search, from anywhere            ITEM --buy now--> DONE, with the reward
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from aes.errors import UsageError
from envs.webshop.catalog.catalog import SEARCH_LIMIT, Catalog
from envs.webshop.catalog.draws import draw_goal
from envs.webshop.catalog.goals import Goal
from envs.webshop.catalog.item import SUBPAGES, Item
from envs.webshop.reward.nouns import RULE, NounFinder
from envs.webshop.reward.reward import Score, score
from envs.webshop.shop.actions import Action, AvailableActions, parse, parse_strictly
from envs.webshop.shop.pages import clickables, render
from envs.webshop.shop.state import Page, ShopState

_SUBPAGE_OF = {name.lower(): name for name in SUBPAGES}
_SHOWN_BUTTONS = 12


class TextShop:
    """A text environment in Gymnasium's words; holds one episode, shares everything else.

    The fixed form (`compat=False`) has no dead buttons, ends for good with a purchase, shows what is selected, takes
    option texts with brackets, never shows the reward, and lets an agent search from every page but the last.
    `compat=True` is the original's `text` mode to the letter: search works even after the end, "Next >" is always
    there, and the last page shows the reward.

    `goals` are what `reset` draws from or indexes; all synthetic goals of the catalogue unless given. Every info has
    `goal_id`, `action_valid` and `error` (what was wrong with the action, in words for the agent, or ""); after a
    purchase also `score`.

    Example:
        shop = TextShop(catalog)
        observation, info = shop.reset(goal=0)
        observation, reward, terminated, truncated, info = shop.step("search[red shoes]")
    """

    def __init__(
        self, catalog: Catalog, compat: bool = False, *, goals: Sequence[Goal] | None = None, nouns: NounFinder = RULE
    ) -> None:
        self.catalog = catalog
        self.compat = compat
        self.state = ShopState()
        self.score: Score | None = None
        self._goals = goals
        self._goal: Goal | None = None
        self._nouns = nouns
        self._rng = random.Random()

    @property
    def goals(self) -> Sequence[Goal]:
        """What `reset` draws from."""
        return self.catalog.goals("synthetic", "all") if self._goals is None else self._goals

    @property
    def goal(self) -> Goal:
        """The goal of this episode. Raises UsageError before the first reset."""
        if self._goal is None:
            raise UsageError("the shop has no goal yet; call reset() first")
        return self._goal

    @property
    def available_actions(self) -> AvailableActions:
        """What this page allows; the original counts a search as allowed only where there is a search bar."""
        page = self.state.page
        search = page is Page.INDEX if self.compat else page is not Page.DONE
        return AvailableActions(search, clickables(self.state, self._item, self.compat))

    def reset(self, goal: Goal | int | None = None, *, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode with a goal, a position in `goals`, or one drawn by weight; `seed` seeds all draws."""
        if seed is not None:
            self._rng.seed(seed)
        if goal is None:
            goal = draw_goal(self.goals, self._rng, self.compat)
        if isinstance(goal, int):
            if not 0 <= goal < len(self.goals):
                raise UsageError(f"no goal {goal}; there are {len(self.goals)}, counted from 0")
            goal = self.goals[goal]
        self._goal, self.score, self.state = goal, None, ShopState()
        return self._observe(), self._info("")

    def step(self, text: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take an action; return observation, reward, terminated, truncated (never), info.

        What cannot be done changes nothing and is explained in the info. The reward comes with the purchase.
        """
        action = parse_strictly(text) if self.compat else parse(text)
        error = self._act(action) if action else f"not an action: {text[:80]!r}; {_FORM}"
        ended = self.state.page is Page.DONE
        reward = self.score.total if ended and self.score and not error else 0.0
        terminated = ended and not (self.compat and error)  # the original forgets the end at the next wrong action
        return self._observe(), reward, terminated, False, self._info(error)

    @property
    def _item(self) -> Item | None:
        return self.catalog.item(self.state.product.asin) if self.state.product else None

    def _observe(self) -> str:
        total = self.score.total if self.score else 0.0
        return render(self.state, self.goal.instruction, self.catalog.item, self.compat, total)

    def _info(self, error: str) -> dict[str, Any]:
        info: dict[str, Any] = {"goal_id": self.goal.id, "action_valid": not error, "error": error}
        return info | ({"score": self.score} if self.score else {})

    def _act(self, action: Action) -> str:
        """Replace the state; return what was wrong, if anything."""
        if self.state.page is Page.DONE and not self.compat:
            return "the episode has ended; nothing can be done any more"
        if action.verb == "search":
            self.state = self._found(action.argument, 1)
            return ""
        target = self._target(action.argument)
        if target is None:
            return self._no_button(action.argument)
        self.state = target
        if target.page is Page.DONE and target.product:
            self.score = score(self.goal, target.product, target.options, self._nouns)
        return ""

    def _target(self, button: str) -> ShopState | None:
        """Return the state a click leads to, None when the page has no such button."""
        state, item = self.state, self._item
        if state.page is Page.ITEM and item:
            choice = (item.choices if self.compat else item.spoken).get(button)
            # In the original an option that is called like a button hides it; the fixed form keeps the button.
            if choice and (self.compat or button not in _FIXED_BUTTONS):
                return replace(state, options={**state.options, choice[0]: choice[1]})
        if button == "search" or button not in clickables(state, item, self.compat):
            return None
        if button == "back to search":
            return ShopState()
        if state.page is Page.RESULTS:
            return self._from_results(button)
        if state.page is Page.SUBPAGE:
            return replace(state, page=Page.ITEM, subpage="")
        if button == "< prev":
            return self._found(state.query, state.number)
        if button == "buy now":
            return replace(state, page=Page.DONE)
        return replace(state, page=Page.SUBPAGE, subpage=_SUBPAGE_OF[button])

    def _from_results(self, button: str) -> ShopState:
        if button == "next >":
            return self._found(self.state.query, self.state.number + 1)
        if button == "< prev":
            return self._found(self.state.query, self.state.number - 1)
        return replace(self.state, page=Page.ITEM, product=self.catalog.products[button.upper()], options={})

    def _found(self, query: str, number: int) -> ShopState:
        """Show a page of results; the original searches anew for every page, which shows in random listings only."""
        if query == self.state.query and self.state.results and not self.compat:
            results = self.state.results
        else:
            results = self._search(query)
        return ShopState(Page.RESULTS, query, results, number)

    def _search(self, query: str) -> tuple[str, ...]:
        """Answer a query: <r> is a random sample, <a>, <c>, <q> list all of an attribute, category or query."""
        key, _, rest = query.partition(" ")
        if key == "<r>":
            asins = list(self.catalog.products)
            return tuple(self._rng.sample(asins, min(SEARCH_LIMIT, len(asins))))
        if key in _LISTED_BY:
            value = rest.partition(" ")[0] if key == "<c>" else rest.strip()
            return self.catalog.listing(_LISTED_BY[key], value)
        return tuple(self.catalog.search(query))

    def _no_button(self, button: str) -> str:
        allowed = self.available_actions.clickables
        shown = ", ".join(allowed[:_SHOWN_BUTTONS]) + (", ..." if len(allowed) > _SHOWN_BUTTONS else "")
        cure = f"click one of: {shown}" if allowed else "there is nothing to click here; use search[words]"
        return f"no button {button[:80]!r} on this page; {cure}"


_FORM = "write search[words] or click[button]"
_LISTED_BY = {"<a>": "attribute", "<c>": "category", "<q>": "query"}
_FIXED_BUTTONS = frozenset({"back to search", "< prev", "buy now", *_SUBPAGE_OF})
