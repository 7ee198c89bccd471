"""How agents are told of the shop, by name: our own prompt, and the shapes that papers report on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from envs.webshop.agent.prompts.own import Own
from envs.webshop.agent.prompts.prompt import Move, Outcome, Prompt, Turn
from envs.webshop.agent.prompts.ragen import Ragen
from envs.webshop.agent.prompts.react import React
from envs.webshop.agent.prompts.verl_agent import VerlAgent

__all__ = ["PROMPTS", "Move", "Outcome", "Own", "Prompt", "PromptName", "Ragen", "React", "Turn", "VerlAgent"]

PromptName = Literal["aes", "verl-agent", "ragen", "react"]

PROMPTS: Mapping[str, Prompt] = {prompt.name: prompt for prompt in (Own(), VerlAgent(), Ragen(), React())}
"""Every named prompt as its papers have it."""
