"""`verl-agent`: the prompt of langfengQ/verl-agent, in which GiGPO, HGPO and many later results are reported.

Its shape, not its wording: the parts, their order, tags and limits are kept, the sentences are ours.

- source: verl-agent and its forks. Shop: the original's (`compat`), `text` observations.
- shown: one user message a turn with role, task, number of steps taken, the latest observations and actions, the
  current observation (the parts after the task, each in single quotes), every admissible action in quotes on a line of
  its own ("click[search]" on the search page included, which does nothing), and what to answer.
- history: no chat; the last 2 pairs of observation and action, none where the message exceeds 13,000 characters.
- limit: 15 turns (HGPO: 30, with a history of 2 or 4), 512 tokens a reply.
- reading: lower case; what stands between the first <action> and the first </action>. Without the tags the last 20
  characters are sent, which as a rule do nothing.
- invalid: missing tags, no <think>...</think>, or a Chinese character. What is readable is sent to the shop all the
  same; a button that is not there is a silent no-op and counts as valid (`malformed_replies` counts as they do).
- success: a purchase of reward 1. Their training reward is 10 for a success and 0 else; the fitness here is the reward.
- data: the first 1,000 products, synthetic goals, positions 0 to 499 held out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from aes.types import Message
from envs.webshop.agent.prompts.prompt import Move, Outcome, Turn
from envs.webshop.shop.shop import TextShop

MAX_CHARACTERS = 13_000
"""The longest message; a longer one loses its history."""

_SEPARATOR = " [SEP] "
_TAIL = 20
_CHINESE = re.compile("[\u4e00-\u9fff]")

_ROLE = "You shop on the web site WebShop on somebody's behalf."
_ASK = (
    "Think before you act: write your reasoning, step by step, between <think> and </think>. Then write the one"
    " admissible action that you take between <action> and </action>."
)


@dataclass(frozen=True, slots=True)
class VerlAgent:
    """The prompt `verl-agent`; `history` counts the pairs of observation and action that are shown again."""

    history: int = 2
    max_turns: int = 15

    name = "verl-agent"
    compat = True
    max_tokens = 512
    stop = ()

    @property
    def version(self) -> str:
        """The prompt's version and its settings."""
        return f"1 {self}"

    def first(self, shop: TextShop, page: str) -> str:
        """Quote the page."""
        return quoted(page, shop.goal.instruction)

    def show(self, shop: TextShop, outcome: Outcome) -> str:
        """Quote the page; what was wrong with an action isn't said."""
        return quoted(outcome.page, shop.goal.instruction)

    def messages(self, shop: TextShop, turns: Sequence[Turn], shown: str) -> list[Message]:
        """One message that says everything; without its history where it would be too long."""
        text = self._message(shop, turns, shown)
        if len(text) > MAX_CHARACTERS:
            text = self._message(shop, (), shown)
        return [{"role": "user", "content": text}]

    def read(self, shop: TextShop, reply: str) -> Move:
        """Take what stands in the action tags, or the reply's end where there are none."""
        said = reply.lower()
        start, end = said.find("<action>"), said.find("</action>")
        if start < 0 or end < 0:
            return Move(said[-_TAIL:], malformed=True)
        thought = "<think>" in said and "</think>" in said
        return Move(said[start + len("<action>") : end].strip(), malformed=not thought or bool(_CHINESE.search(reply)))

    def _message(self, shop: TextShop, turns: Sequence[Turn], shown: str) -> str:
        parts = [_ROLE, f"The task: {shop.goal.instruction}", *self._past(turns)]
        parts += [f"You see now: {shown}", f"Actions that are admissible here:\n{_admissible(shop)}", _ASK]
        return "\n\n".join(parts)

    def _past(self, turns: Sequence[Turn]) -> list[str]:
        """Number of steps, the latest of them, and which one this is; nothing at the first."""
        if not turns:
            return []
        begin = max(0, len(turns) - self.history)
        pairs = [
            f"[Observation {number}: '{turn.shown}', Action {number}: '{turn.action}']"
            for number, turn in enumerate(turns[begin:], begin + 1)
        ]
        taken = f"Steps taken so far: {len(turns)}. The last {len(pairs)}, what you saw and what you did:"
        return ["\n".join([taken, *pairs]), f"This is step {len(turns) + 1}."]


def quoted(page: str, task: str) -> str:
    """Put every part of a page after the task in single quotes; a page without the task is quoted whole."""
    parts = page.split(_SEPARATOR)
    task = task.strip()
    after = parts[parts.index(task) + 1 :] if task in parts else parts
    return _SEPARATOR.join(f"'{part}'" for part in after)


def _admissible(shop: TextShop) -> str:
    search, clickables = shop.available_actions
    actions = [*(["search[<your query>]"] if search else []), *(f"click[{button}]" for button in clickables)]
    return "\n".join(f"'{action}'" for action in actions)
