"""Goals as the golden rewards write them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from envs.webshop.catalog.goals import Goal


def goal_of(row: Mapping[str, Any]) -> Goal:
    """Read the goal of one golden reward."""
    options = row["goal_options"]
    return Goal(
        id="golden",
        index=0,
        asin=row["asin"],
        category="",
        query=row["query"],
        name=row["name"],
        product_category=row["product_category"],
        instruction="",
        attributes=tuple(row["attributes"]),
        price_upper=row["price_upper"],
        options=options if isinstance(options, dict) else tuple(options),
    )
