"""The pocket policy: a small Llama with its own tokenizer, made on the spot by imitating a scripted shopper."""

from envs.webshop.pocket.cache import Recipe, ensure
from envs.webshop.pocket.demonstrations import Temper
from envs.webshop.pocket.warmstart import Lessons, Progress

__all__ = ["Lessons", "Progress", "Recipe", "Temper", "ensure"]
