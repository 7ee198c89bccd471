"""WebShop as an aes Task: goals of a catalogue, played as a conversation of pages and actions."""

from __future__ import annotations

import re
from typing import Any

from aes.chat import ChatTask
from envs.webshop.agent.view import View
from envs.webshop.catalog.catalog import Catalog
from envs.webshop.catalog.goals import Goal, GoalKind
from envs.webshop.catalog.splits import Split
from envs.webshop.shop.shop import TextShop

PROMPT_VERSION = "1"
"""Changes whenever the system prompt or the pages do: results of unlike versions do not compare."""

SYSTEM = (
    "You are shopping in a web shop. Buy the product that meets the goal: the right kind of product with the wanted"
    " attributes, its wanted options chosen, and below the price limit. Each turn you see a page and the actions it"
    " allows. Think in one short sentence, then end your reply with exactly one action: search[<words>] or"
    " click[<what is shown>], for example search[red cotton shirt], click[B012345678], click[large] or click[buy now]."
    " Choose every wanted option before you buy. You have 15 turns, and the first purchase ends the task."
)

MAX_TURNS = 15
_VERB = re.compile(r"(?:search|click)\s*\[", re.IGNORECASE)


class ShopEpisode:
    """One goal as an Environment: free words in, short pages out; what cannot be done is explained and counted.

    `info` has "invalid_actions" on every step, and after the purchase "success" and the parts of the reward.
    """

    def __init__(self, catalog: Catalog, goal: Goal, view: View) -> None:
        self._shop = TextShop(catalog)
        self._products = catalog.products
        self._goal = goal
        self._view = view
        self._invalid = 0

    def reset(self, *, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        """Show the goal; the shop itself knows no luck."""
        self._shop.reset(self._goal, seed=seed)
        self._invalid = 0
        return self._view.first(self._goal), self._info()

    def step(self, text: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Do the last action of a reply; the reward, in [0, 1], comes with the purchase."""
        before = self._shop.state
        _, reward, terminated, truncated, info = self._shop.step(last_action(text))
        if not info["action_valid"]:
            self._invalid += 1
            return f"Invalid action: {info['error']}", 0.0, terminated, truncated, self._info()
        page = self._view.next(before, self._shop.state, self._products.__getitem__)
        return page, reward, terminated, truncated, self._info()

    def _info(self) -> dict[str, Any]:
        info: dict[str, Any] = {"invalid_actions": self._invalid, "success": False}
        if score := self._shop.score:
            info |= {"success": score.success, "r_type": score.r_type, "r_att": score.r_att, "r_price": score.r_price}
            info |= {"r_option": score.r_option} if score.r_option is not None else {}
        return info


class WebShop(ChatTask):
    """Shopping for the goals of a catalogue: trained on its train split, evaluated on a split held out from it.

    Fitness is the reward of the purchase in [0, 1], success a reward of 1; no purchase in 15 turns is worth 0.

    Example:
        task = WebShop(Catalog.generate(1000))
    """

    def __init__(
        self, catalog: Catalog, *, kind: GoalKind = "synthetic", eval_split: Split = "test", view: View | None = None
    ) -> None:
        shown = view or View()
        super().__init__(
            name="webshop",
            make=lambda goal: ShopEpisode(catalog, goal, shown),
            train_goals=catalog.goals(kind, "train"),
            eval_goals=catalog.goals(kind, eval_split),
            system=SYSTEM,
            max_turns=MAX_TURNS,
            fingerprint={
                "catalog": catalog.fingerprint,
                "goals": kind,
                "eval_split": eval_split,
                "prompt": PROMPT_VERSION,
                "view": repr(shown),
            },
        )


def last_action(reply: str) -> str:
    """Cut a reply down to its last action, from the verb to the last closing bracket of the line.

    A reply without one comes back whole, for the shop to say what is wrong with it.
    """
    starts = [found.start() for found in _VERB.finditer(reply)]
    return reply[starts[-1] :] if starts else reply.strip()
