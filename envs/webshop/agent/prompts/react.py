"""`react`: the prompt of ReAct (arXiv 2210.03629) for WebShop, which Reflexion, ADaPT and LATS took over.

Its shape, not its wording: parts, order, forms and limits are kept; the sentences and the worked example are ours.

- source: ysymyth/ReAct. Shop: pages in their own form (`react_pages`), their wrapper's rules on the mended shop.
- shown: one user message with one worked example, the task, and what was done and seen since, as lines of Action: and
  Observation:. The first 3 products of a page, no paging; a chosen option is answered "You have clicked X.".
- history: as much of the end as 6,400 characters in all leave; example and task always stay.
- limit: 15 calls of the shop of which the reset is one, so 14 replies; a thought is one of them.
- reading: the first line of a reply (a leading "Action:" is dropped), one of think[...], search[...], click[...].
  think[...] is answered "OK." and never reaches the shop.
- invalid: any other line, a search anywhere but on the search page, a button that isn't shown: "Invalid action!".
- success: a purchase of reward 1.
- data: the full catalogue, crowd-written goals 0 to 499 (the test split).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from aes.types import Message
from envs.webshop.agent.prompts import react_pages
from envs.webshop.agent.prompts.prompt import Move, Outcome, Turn
from envs.webshop.shop.actions import Action, parse
from envs.webshop.shop.shop import TextShop
from envs.webshop.shop.state import Page, ShopState

WINDOW = 6_400
"""Characters of a message, example and task included."""

_INVALID = "Invalid action!"
_NEXT = "\n\nAction:"
_LABEL = re.compile(r"action:\s*", re.IGNORECASE)

EXAMPLE = """\
Shop as in this example. Answer with one line: think[...], search[...] or click[...].

WebShop
Instruction:
find me a machine washable throw pillow cover for the sofa with color: dark green, and size: 18 x 18 inch, and price \
lower than 30.00 dollars
[Search]

Action: search[machine washable throw pillow cover sofa dark green 18 x 18 inch]
Observation:
[Back to Search]
Page 1 (Total results: 50)
[B0EXAMPLE1]
Ferndale Velvet Throw Pillow Cover for Couch and Sofa, Machine Washable, Set of 2
$17.5 to $24.0
[B0EXAMPLE2]
Ferndale Outdoor Cushion, Filled, Green
$21.99
[B0EXAMPLE3]
Oakrow Linen Bed Pillow, White
$35.0

Action: think[The first is a machine washable cover for the sofa, and below 30 dollars. I look at its colors and sizes.]
Observation: OK.

Action: click[B0EXAMPLE1]
Observation:
[Back to Search]
[< Prev]
color [dark green][navy][sand]
size [16 x 16 inch][18 x 18 inch]
Ferndale Velvet Throw Pillow Cover for Couch and Sofa, Machine Washable, Set of 2
Price: $17.5 to $24.0
Rating: N.A.
[Description]
[Features]
[Reviews]
[Buy Now]

Action: think[It comes in dark green and in 18 x 18 inch. I choose both and buy.]
Observation: OK.

Action: click[dark green]
Observation: You have clicked dark green.

Action: click[18 x 18 inch]
Observation: You have clicked 18 x 18 inch.

Action: click[Buy Now]

Now your task.

"""


@dataclass(frozen=True, slots=True)
class React:
    """The prompt `react`."""

    name = "react"
    version = "1"
    compat = False
    max_turns = 14
    max_tokens = None
    stop = ("\n",)

    def first(self, shop: TextShop, page: str) -> str:
        """Show the search page with the task."""
        return react_pages.write(shop)

    def show(self, shop: TextShop, outcome: Outcome) -> str:
        """Show the page, or name the option that was clicked."""
        if outcome.error:
            return _INVALID
        clicked = parse(outcome.action)
        if clicked and outcome.before.page is Page.ITEM and shop.state.page is Page.ITEM:
            return f"You have clicked {clicked.argument}."
        return react_pages.write(shop)

    def messages(self, shop: TextShop, turns: Sequence[Turn], shown: str) -> list[Message]:
        """Example and task, then as much of the end of the story as the window holds."""
        first, *later = [*(turn.shown for turn in turns), shown]
        story = "".join(
            f"{_NEXT} {_line(turn.reply)}\nObservation:{_set_off(seen)}"
            for turn, seen in zip(turns, later, strict=True)
        )
        head = EXAMPLE + first
        room = max(0, WINDOW - len(head) - len(_NEXT))
        return [{"role": "user", "content": head + story[max(0, len(story) - room) :] + _NEXT}]

    def read(self, shop: TextShop, reply: str) -> Move:
        """Answer a thought; hold back what the page doesn't show."""
        line = _line(reply)
        if line.startswith("think["):
            return Move(line, answer="OK.")
        action = parse(line)
        if action is None:
            return Move("", malformed=True)
        return Move("" if _hidden(shop.state, action) else line)


def _line(reply: str) -> str:
    line = reply.strip().partition("\n")[0].rstrip()
    return _LABEL.sub("", line, count=1) if _LABEL.match(line) else line


def _set_off(seen: str) -> str:
    """A page begins on a line of its own."""
    return f"\n{seen}" if "\n" in seen else f" {seen}"


def _hidden(state: ShopState, action: Action) -> bool:
    """Whether the shop would allow what these pages don't show."""
    if action.verb == "search":
        return state.page is not Page.INDEX
    unseen = {asin.lower() for asin in state.shown[react_pages.PRODUCTS :]} | {"next >", "< prev"}
    return state.page is Page.RESULTS and action.argument in unseen
