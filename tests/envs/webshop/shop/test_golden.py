"""Whole episodes of the original's text environment, to the character."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from envs.webshop.catalog.catalog import Catalog
from envs.webshop.shop.shop import Observation, TextShop


@pytest.mark.parametrize("mode", ["text", "text_rich", "url"])
def test_golden_episodes(real_catalog: Catalog, golden: Callable[[str], Any], mode: Observation) -> None:
    shop = TextShop(real_catalog, compat=True, observation=mode)
    episodes = golden("golden_text_env")["episodes"]
    assert len(episodes) > 0
    for episode in episodes:
        for number, step in enumerate(episode["steps"]):
            if step["action"] == "reset":
                observation, reward, terminated = shop.reset(goal=episode["goal_idx"])[0], 0.0, False
            else:
                observation, reward, terminated, _, _ = shop.step(step["action"])
            where = (episode["goal_idx"], number, step["action"])
            assert observation == step[mode], where
            assert (reward, terminated) == (step["reward"], step["done"]), where
            assert shop.available_actions == (step["has_search_bar"], tuple(step["clickables"])), where
