"""One goal being played: the shop, what was shown and said, and the account of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aes.types import Completion, Episode, Message
from envs.webshop.agent.prompts.prompt import Move, Outcome, Prompt, Turn
from envs.webshop.catalog.goals import Goal
from envs.webshop.shop.actions import parse, parse_strictly
from envs.webshop.shop.shop import TextShop


class ShopEpisode:
    """A visit to the shop: ask the policy what `messages` say, `take` its reply, until it is `over`."""

    def __init__(self, prompt: Prompt, shop: TextShop, goal: Goal, seed: int) -> None:
        self._prompt = prompt
        self._shop = shop
        page, _ = shop.reset(goal, seed=seed)
        self._shown = prompt.first(shop, page)
        self._turns: list[Turn] = []
        self._transcript: list[Message] = []
        self._bought = False
        self._tokens = self._invalid = self._malformed = 0

    @property
    def turns(self) -> int:
        """Replies taken so far."""
        return len(self._turns)

    @property
    def over(self) -> bool:
        """Whether something was bought, or the last turn is spent."""
        return self._bought or self.turns >= self._prompt.max_turns

    @property
    def messages(self) -> list[Message]:
        """What the policy is to answer now."""
        return self._prompt.messages(self._shop, self._turns, self._shown)

    async def take(self, asked: Sequence[Message], reply: Completion) -> None:
        """Read the reply to what was asked and carry it out. Waits only where a large catalogue is searched."""
        move = self._prompt.read(self._shop, reply.text)
        self._turns.append(Turn(self._shown, reply.text, move.action))
        self._transcript = _continued(self._transcript, asked, reply.text)
        self._tokens += len(reply.token_ids)
        self._malformed += move.malformed
        self._shown = await self._answer(move)

    def result(self) -> Episode:
        """The episode so far. The reward in [0, 1] comes with the purchase; a reward of 1 is a success."""
        info: dict[str, Any] = {"invalid_actions": self._invalid, "malformed_replies": self._malformed}
        score = self._shop.score
        if score:
            info |= {"r_type": score.r_type, "r_att": score.r_att, "r_price": score.r_price}
            info |= {"r_option": score.r_option} if score.r_option is not None else {}
        return Episode(
            fitness=score.total if score else 0.0,
            success=score.success if score else False,
            turns=self.turns,
            tokens=self._tokens,
            transcript=tuple(self._transcript),
            info={name: float(value) for name, value in info.items()},
        )

    async def _answer(self, move: Move) -> str:
        """What the next page says."""
        if move.answer is not None:
            return move.answer
        await self._prefetch(move.action)
        before = self._shop.state
        page, _, self._bought, _, info = self._shop.step(move.action)
        self._invalid += move.malformed or not info["action_valid"]
        return self._prompt.show(self._shop, Outcome(move.action, before, page, info["error"]))

    async def _prefetch(self, text: str) -> None:
        """Have a search answered off the event loop, in the very words in which the shop will ask it."""
        action = (parse_strictly if self._shop.compat else parse)(text)
        if action is not None and action.verb == "search":
            await self._shop.catalog.prefetch(action.argument)


def _continued(transcript: Sequence[Message], asked: Sequence[Message], reply: str) -> list[Message]:
    """Add what was asked and answered; a conversation that has only grown is not written twice."""
    said = asked if list(asked[: len(transcript)]) == transcript else [*transcript, *asked]
    return [*said, {"role": "assistant", "content": reply}]
