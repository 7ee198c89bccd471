"""WebShop in pure Python: catalogue, search, goals, reward and the text shop, all in memory."""

from envs.webshop.agent import WebShop
from envs.webshop.catalog import Catalog, Goal, Product
from envs.webshop.reward import Score, score
from envs.webshop.shop import TextShop

__all__ = ["Catalog", "Goal", "Product", "Score", "TextShop", "WebShop", "score"]
