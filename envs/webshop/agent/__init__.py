"""WebShop as an aes Task: what an agent is told, shown, and how its replies are read."""

from envs.webshop.agent.prompts import PROMPTS, Prompt
from envs.webshop.agent.task import WebShop
from envs.webshop.agent.view import View

__all__ = ["PROMPTS", "Prompt", "View", "WebShop"]
