"""What a purchase is worth: the original's reward and its parts."""

from envs.webshop.reward.nouns import RULE, NounFinder
from envs.webshop.reward.reward import Score, score

__all__ = ["RULE", "NounFinder", "Score", "score"]
