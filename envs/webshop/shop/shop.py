"""The shop as a text environment: one episode at a time, a pure state machine over a shared catalogue.

INDEX --search--> RESULTS --asin--> ITEM --description, features, reviews--> SUBPAGE
^                 ^  next >, < prev  |  option: chosen, stays                 |
|                 `----- < prev -----'<-------------- < prev -----------------'
`-- back to search, from anywhere            ITEM --buy now--> DONE, with the reward
"""

from __future__ import annotations

import random
import string
from collections.abc import Sequence
from typing import Any, Literal, get_args

from aes.errors import UsageError
from envs.webshop.catalog.catalog import Catalog
from envs.webshop.catalog.draws import draw_goal
from envs.webshop.catalog.elements import RICH, TEXT
from envs.webshop.catalog.goals import Goal
from envs.webshop.reward.fuzzy import Ratio
from envs.webshop.reward.nouns import RULE, NounFinder
from envs.webshop.reward.reward import Score, score
from envs.webshop.shop.actions import Action, AvailableActions
from envs.webshop.shop.compat import OriginalRules, url
from envs.webshop.shop.history import History
from envs.webshop.shop.rules import Rules
from envs.webshop.shop.state import Page, ShopState

Observation = Literal["text", "text_rich", "url"]
Reason = Literal["", "bought", "step limit"]

_FORM = "write search[words] or click[button]"
_SHOWN_BUTTONS = 12


class TextShop:
    """A text environment in Gymnasium's words; holds one episode, shares everything else.

    The fixed form (`compat=False`) has no dead buttons, ends for good with a purchase or at the step limit, shows
    what is selected, takes option texts with brackets, never shows the reward, and lets an agent search from every
    page but the last. `compat=True` is the original to the letter: search works even after the end, where one may
    buy again, "Next >" is always there, an action must have exactly the original's form, and the last page shows the
    reward. Only its exceptions are not reproduced: a listing by attribute works as on its web site, a random sample
    of a small catalogue is what there is, and `instruction_text` is empty on the last page.

    Every info has `goal_id`, `action_valid`, `error` (what was wrong with the action, in words for the agent, or "")
    and `reason` (why the episode has ended: "bought", "step limit", or "" while it goes on); after a purchase also
    `score`.

    Args:
        catalog: what is sold.
        compat: the original's rules instead of the fixed form's.
        goals: what `reset` draws from or indexes; all synthetic goals of the catalogue unless given.
        nouns: the noun finder of the reward.
        ratio: the likeness of texts in the reward, see `token_set_ratio`.
        observation: the original's `text`, its `text_rich` (a line for each text, buttons and clicked buttons
            marked), or its `url`, which holds the state in compat only.
        show_attrs: whether products have a page of attributes, which gives much of the goal away.
        previous_observations: how many earlier observations each observation repeats, oldest first.
        previous_actions: how many earlier actions, each after the observation that it answered.
        max_steps: actions after which an episode is truncated, valid or not; None for no limit.

    Raises UsageError for a mode or a number that cannot be.

    Example:
        shop = TextShop(catalog)
        observation, info = shop.reset(goal=0)
        observation, reward, terminated, truncated, info = shop.step("search[red shoes]")
    """

    def __init__(
        self,
        catalog: Catalog,
        compat: bool = False,
        *,
        goals: Sequence[Goal] | None = None,
        nouns: NounFinder = RULE,
        ratio: Ratio = "rapidfuzz",
        observation: Observation = "text",
        show_attrs: bool = False,
        previous_observations: int = 0,
        previous_actions: int = 0,
        max_steps: int | None = None,
    ) -> None:
        _check(compat, observation, previous_observations, previous_actions, max_steps)
        self.catalog = catalog
        self.compat = compat
        self.observation = observation
        self.max_steps = max_steps
        self.state = ShopState()
        self.score: Score | None = None
        self._goals = goals
        self._goal: Goal | None = None
        self._nouns, self._ratio = nouns, ratio
        self._rng = random.Random()
        form = RICH if observation == "text_rich" else TEXT
        self._rules = (OriginalRules if compat else Rules)(catalog, form, show_attrs, self._rng)
        self._repeats = previous_observations + previous_actions > 0
        self._history = History(previous_observations, previous_actions)
        self._steps = 0
        self._sessions: dict[str, Goal] = {}

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
        if self._over:
            return AvailableActions(False, ())
        return AvailableActions(self._rules.may_search(self.state), self._rules.clickables(self.state))

    @property
    def instruction_text(self) -> str:
        """The instruction as the page has it, spelled with a blank on the start page only; none on the last page."""
        blank = {Page.INDEX: " ", Page.DONE: None}.get(self.state.page, "")
        return "" if blank is None else f"Instruction:{blank}{self.goal.instruction}"

    def reset(
        self, goal: Goal | int | None = None, *, seed: int | None = None, session: str | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Begin an episode with a goal, a position in `goals`, or one drawn by weight; `seed` seeds all draws.

        `session` names the episode in the original's URLs: the position of the goal, or ten drawn letters, unless
        given. A session named again keeps its goal, as in the original, unless one is given. Raises UsageError for a
        position that is not there, and for a session in the fixed form.
        """
        if seed is not None:
            self._rng.seed(seed)
        if not self.compat and session is not None:
            raise UsageError(f"session {session!r}: only the original's URLs have a name in them; take compat=True")
        name = self._name(goal, session) if self.compat else ""
        self._goal = self._wanted(self._sessions.get(name) if goal is None else goal)
        if self.compat and (session is not None or isinstance(goal, int)):  # drawn names never come again
            self._sessions[name] = self._goal
        self.score, self.state, self._steps = None, ShopState(session=name), 0
        return self._history.begin(self._observe()), self._info("", "")

    def step(self, text: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take an action; return observation, reward, terminated, truncated, info.

        What cannot be done changes nothing and is explained in the info. The reward comes with the purchase.
        """
        action = self._rules.parse(text)
        error = self._act(action) if action else f"not an action: {text[:80]!r}; {_FORM}"
        self._steps += 1
        bought = self.state.page is Page.DONE and not (self.compat and error)  # the original forgets the end
        reward = self.score.total if bought and self.score and not error else 0.0
        truncated = self._at_limit and self.state.page is not Page.DONE
        reason: Reason = "bought" if bought else "step limit" if truncated else ""
        observation = self._history.add(text, self._observe()) if self._repeats else self._observe()
        return observation, reward, bought, truncated, self._info(error, reason)

    @property
    def _at_limit(self) -> bool:
        return self.max_steps is not None and self._steps >= self.max_steps

    @property
    def _over(self) -> bool:
        """Whether nothing can be done any more; the original never ends."""
        return not self.compat and (self.state.page is Page.DONE or self._at_limit)

    def _name(self, goal: Goal | int | None, session: str | None) -> str:
        if session is not None:
            return session
        return str(goal) if isinstance(goal, int) else "".join(self._rng.choices(string.ascii_lowercase, k=10))

    def _wanted(self, goal: Goal | int | None) -> Goal:
        if goal is None:
            return draw_goal(self.goals, self._rng, self.compat)
        if isinstance(goal, Goal):
            return goal
        if not 0 <= goal < len(self.goals):
            raise UsageError(f"no goal {goal}; there are {len(self.goals)}, counted from 0")
        return self.goals[goal]

    def _observe(self) -> str:
        if self.observation == "url":
            return url(self.state)
        return self._rules.write(self.state, self.goal.instruction, self.score.total if self.score else 0.0)

    def _info(self, error: str, reason: Reason) -> dict[str, Any]:
        info: dict[str, Any] = {"goal_id": self.goal.id, "action_valid": not error, "error": error, "reason": reason}
        return info | ({"score": self.score} if self.score else {})

    def _act(self, action: Action) -> str:
        """Replace the state; return what was wrong, if anything."""
        if self._over:
            return "the episode has ended; nothing can be done any more"
        if action.verb == "search":
            self.state = self._rules.search(self.state, action.argument)
            return ""
        target = self._rules.click(self.state, action.argument)
        if target is None:
            return self._no_button(action.argument)
        self.state = target
        if target.page is Page.DONE and target.product:
            self.score = score(self.goal, target.product, target.options, self._nouns, self._ratio)
        return ""

    def _no_button(self, button: str) -> str:
        allowed = self.available_actions.clickables
        shown = ", ".join(allowed[:_SHOWN_BUTTONS]) + (", ..." if len(allowed) > _SHOWN_BUTTONS else "")
        cure = f"click one of: {shown}" if allowed else "there is nothing to click here; use search[words]"
        return f"no button {button[:80]!r} on this page; {cure}"


def _check(compat: bool, mode: Observation, observations: int, actions: int, max_steps: int | None) -> None:
    """Refuse what cannot be, before it shows in an episode."""
    if mode not in get_args(Observation):
        raise UsageError(f"no observation {mode!r}; take one of {', '.join(get_args(Observation))}")
    if mode == "url" and not compat:
        raise UsageError("observation 'url': the fixed form has no URLs; take 'text' or 'text_rich', or compat=True")
    for name, count in (("previous_observations", observations), ("previous_actions", actions)):
        if count < 0:
            raise UsageError(f"{name} {count}: give how many to repeat, 0 or more")
    if max_steps is not None and max_steps < 1:
        raise UsageError(f"max_steps {max_steps}: an episode has at least one step (None for no limit)")
