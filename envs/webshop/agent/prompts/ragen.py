"""`ragen`: the prompt of RAGEN-AI/RAGEN for its WebShop.

Its shape, not its wording: the parts, their order, tags and limits are kept, the sentences are ours.

- source: RAGEN. Shop: the original's (`compat`), `text` observations.
- shown: the rules with nine hints at the start; then, each turn, the page and the actions it allows, without
  "click[next >]" on an empty page and without "click[search]".
- history: an appended chat.
- limit: 9 turns of one action (the prompt says 10), 400 tokens a reply.
- reading: the first <think>...</think> with an <answer>...</answer> right after it; the answer goes to the shop.
- invalid: anything else; the shop is told nothing, and the turn is spent. Theirs costs a penalty of 0.1 (not here:
  `malformed_replies` counts them). A button that is not there is a no-op.
- success: a purchase of reward 1. Their training reward is the reward, partial credit included, as here.
- data: the 1,000 products of the small set, synthetic goals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aes.types import Message
from envs.webshop.agent.prompts.prompt import Move, Outcome, Turn, conversation
from envs.webshop.shop.shop import TextShop
from envs.webshop.shop.state import Page

_SAID_TURNS = 10

_RULES = """You are shopping on a web site. Each turn you get a page and the actions that are possible there, and you \
choose one of them.
Hints:
- The instruction on the page says what to buy.
- Begin with a search, in a few words that name the product and what matters most about it.
- search[...] works only where the possible actions list it.
- Click a product id to see the product, its options and its price.
- Compare the price with the limit in the instruction before you decide.
- Click one value of every option that the instruction asks for; a later click in the same group replaces the first.
- Description and features tell more; come back from them with click[< prev].
- If nothing fits, go back and search in other words.
- Buy within 10 actions: without click[buy now] nothing is earned.
Answer in this form and no other: <think>your thoughts</think><answer>one action</answer>"""


@dataclass(frozen=True, slots=True)
class Ragen:
    """The prompt `ragen`."""

    name = "ragen"
    version = "1"
    compat = True
    max_turns = 9
    max_tokens = 400
    stop = ()

    def first(self, shop: TextShop, page: str) -> str:
        """Show the search page and its actions."""
        return _page(shop, page)

    def show(self, shop: TextShop, outcome: Outcome) -> str:
        """Show the page and its actions; what was wrong with an action isn't said."""
        return _page(shop, outcome.page)

    def messages(self, shop: TextShop, turns: Sequence[Turn], shown: str) -> list[Message]:
        """The chat so far, its user messages numbered, the rules on the first."""
        pages = [*(turn.shown for turn in turns), shown]
        texts = [f"Turn {at + 1}, {_SAID_TURNS - at} actions left\n{page}" for at, page in enumerate(pages)]
        return conversation([f"{_RULES}\n\n{texts[0]}", *texts[1:]], turns)

    def read(self, shop: TextShop, reply: str) -> Move:
        """Take the answer that follows a thought."""
        _, opened, rest = reply.partition("<think>")
        _, closed, after = rest.partition("</think>")
        gap, begun, answer = after.partition("<answer>")
        action, ended, _ = answer.partition("</answer>")
        if opened and closed and begun and ended and not gap.strip():
            return Move(action.strip())
        return Move("", malformed=True)


def _page(shop: TextShop, page: str) -> str:
    search, buttons = shop.available_actions
    useless = {"search"}
    if shop.state.page is Page.RESULTS and not shop.state.shown:
        useless.add("next >")
    actions = ["search[<words>]"] if search else []
    actions += [f"click[{button}]" for button in buttons if button not in useless]
    return f"{page}\nPossible actions: {', '.join(actions)}"
