"""The shop as a state machine over text: pages, actions, and the reward at the end."""

from envs.webshop.shop.shop import TextShop
from envs.webshop.shop.state import Page, ShopState

__all__ = ["Page", "ShopState", "TextShop"]
