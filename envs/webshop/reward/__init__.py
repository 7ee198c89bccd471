"""What a purchase is worth: the original's reward and its parts."""

from envs.webshop.reward.nouns import RULE, NounFinder
from envs.webshop.reward.reward import REWARD_VERSION, Score, score
from envs.webshop.reward.spacy_nouns import SpacyNouns

__all__ = ["REWARD_VERSION", "RULE", "NounFinder", "Score", "SpacyNouns", "score"]
