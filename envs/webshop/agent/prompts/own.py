"""`aes`: our own prompt, and the one that the pocket policy has learnt.

- source: this project. Shop: the mended form.
- shown: a system message with the rules; then one short page a turn (`View`), ending in the actions it allows.
- history: an appended conversation; nothing is said twice.
- limit: 15 turns.
- reading: the last `search[...]` or `click[...]` of a reply, in either case, with spaces as they come.
- invalid: a reply without an action, or an action that the page does not allow; it is explained and changes nothing.
- success: a purchase of reward 1.
- data: any.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from aes.types import Message
from envs.webshop.agent.prompts.prompt import Move, Outcome, Turn, conversation
from envs.webshop.agent.view import View
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

_VERB = re.compile(r"(?:search|click)\s*\[", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Own:
    """The prompt `aes`; `view` says how much of a page is shown."""

    view: View = field(default_factory=View)

    name = "aes"
    compat = False
    max_turns = 15
    max_tokens = None
    stop = ()

    @property
    def version(self) -> str:
        """The prompt's version and its settings."""
        return f"{PROMPT_VERSION} {self}"

    def first(self, shop: TextShop, page: str) -> str:
        """Show the goal and the search bar."""
        return self.view.first(shop.goal)

    def show(self, shop: TextShop, outcome: Outcome) -> str:
        """Show the page that an action has led to, or what was wrong with it."""
        if outcome.error:
            return f"Invalid action: {outcome.error}"
        return self.view.next(outcome.before, shop.state, shop.catalog.products.__getitem__)

    def messages(self, shop: TextShop, turns: Sequence[Turn], shown: str) -> list[Message]:
        """The rules, then the conversation so far."""
        return conversation([*(turn.shown for turn in turns), shown], turns, SYSTEM)

    def read(self, shop: TextShop, reply: str) -> Move:
        """Cut a reply down to its last action, from the verb to the last closing bracket of the line.

        A reply without one goes to the shop whole, for it to say what is wrong.
        """
        starts = [found.start() for found in _VERB.finditer(reply)]
        return Move(reply[starts[-1] :] if starts else reply.strip(), malformed=not starts)
