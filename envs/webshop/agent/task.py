"""WebShop as an aes Task: goals of a catalogue, played under a prompt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aes.config import nearest
from aes.errors import UsageError
from aes.policy import turn_seed
from aes.protocols import Policy
from aes.types import Episode
from envs.webshop.agent.episode import ShopEpisode
from envs.webshop.agent.prompts import PROMPTS, Prompt, PromptName
from envs.webshop.catalog.catalog import Catalog
from envs.webshop.catalog.goals import GoalKind
from envs.webshop.catalog.splits import Split
from envs.webshop.reward.nouns import RULE, NounFinder
from envs.webshop.reward.reward import REWARD_VERSION
from envs.webshop.shop.shop import TextShop


class WebShop:
    """Shopping for the goals of a catalogue: trained on its train split, evaluated on a split held out from it.

    Whatever the prompt, fitness is the reward of the purchase in [0, 1], no purchase is worth 0, and success is a
    reward of 1. An Episode's info has `invalid_actions` (replies that broke the prompt's form or asked for what the
    page doesn't allow), `malformed_replies` (the former alone), and after a purchase the parts of the reward.

    Args:
        catalog: products, search and goals.
        kind: goals made of attributes and options, or crowd-written.
        eval_split: which goals are held out to evaluate on.
        prompt: how the agent is told and understood, by name or as an object of your own.
        nouns: what finds the nouns for the reward's title score.

    Raises UsageError for an unknown name, DataError where the catalogue has no such goals.

    Example:
        task = WebShop(Catalog.generate(1000), prompt="verl-agent")
    """

    def __init__(
        self,
        catalog: Catalog,
        *,
        kind: GoalKind = "synthetic",
        eval_split: Split = "test",
        prompt: PromptName | Prompt = "aes",
        nouns: NounFinder = RULE,
    ) -> None:
        self.name = "webshop"
        self.prompt = prompt_of(prompt) if isinstance(prompt, str) else prompt
        self.train_goals = catalog.goals(kind, "train")
        self.eval_goals = catalog.goals(kind, eval_split)
        self.fingerprint: Mapping[str, str] = {
            "catalog": catalog.fingerprint,
            "goals": kind,
            "eval_split": eval_split,
            "prompt": f"{self.prompt.name} {self.prompt.version}",
            "reward": REWARD_VERSION,
            "nouns": nouns.name,
        }
        self._catalog = catalog
        self._nouns = nouns

    async def play(self, policy: Policy, goal: Any, seed: int) -> Episode:
        """Play one goal; lets EpisodeError and cancellation pass, and leaves nothing behind."""
        shop = TextShop(self._catalog, self.prompt.compat, nouns=self._nouns)
        episode = ShopEpisode(self.prompt, shop, goal, seed)
        while not episode.over:
            asked = episode.messages
            reply = await policy.complete(asked, seed=turn_seed(seed, episode.turns), stop=self.prompt.stop)
            await episode.take(asked, reply)
        return episode.result()


def prompt_of(name: str) -> Prompt:
    """The prompt of a name. Raises UsageError."""
    if name not in PROMPTS:
        raise UsageError(f"no prompt {name!r}{nearest(name, PROMPTS)}; there are {', '.join(PROMPTS)}")
    return PROMPTS[name]
