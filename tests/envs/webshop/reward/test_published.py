"""The unit tests that the original publishes, all but those of its site's helpers and of what its shop does not use."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from envs.webshop.catalog.draws import draw_goal
from envs.webshop.catalog.goals import Goal
from envs.webshop.catalog.product import Product
from envs.webshop.reward.colors import normalize_color
from envs.webshop.reward.fuzzy import Ratio
from envs.webshop.reward.reward import score

CASES: dict[str, Any] = json.loads((Path(__file__).parent / "published_cases.json").read_text(encoding="utf-8"))
NAMES: dict[str, str] = CASES["names"]
PATH = "a \u203a b \u203a c"
GOAL = Goal("g", 0, "B1", "c", "query 1", NAMES["shoes"], PATH, "find", tuple(CASES["reward"]["attributes"]), 40.0, ())
BOUGHT = Product("B1", NAMES["shoes"], query="query 1", product_category=PATH, price=35.0)


def product(fields: dict[str, Any]) -> Product:
    """Make a product of a case; its lists become tuples, and a plain text stays one."""
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()}
    return replace(BOUGHT, **values)


@pytest.mark.parametrize("case", CASES["query"])
def test_query_match(case: dict[str, Any]) -> None:
    result = score(replace(GOAL, query=case["goal"]), replace(BOUGHT, query=case["bought"]), {})
    assert (result.query_match, result.r_type) == (case["match"], 1.0)


@pytest.mark.parametrize("case", CASES["category"])
def test_category_match(case: dict[str, Any]) -> None:
    goal, bought = replace(GOAL, product_category=case["goal"]), replace(BOUGHT, product_category=case["bought"])
    assert score(goal, bought, {}).category_match is case["match"]


@pytest.mark.parametrize("case", CASES["title"])
def test_title_score(case: dict[str, Any]) -> None:
    goal, bought = replace(GOAL, name=NAMES[case["goal"]]), replace(BOUGHT, name=NAMES[case["bought"]])
    title = score(goal, bought, {}).title_score
    assert title < case["below"] if "below" in case else title == pytest.approx(case["score"], abs=0.01)


@pytest.mark.parametrize("ratio", ["rapidfuzz", "difflib"])
@pytest.mark.parametrize("case", CASES["attribute"])
def test_attributes(case: dict[str, Any], ratio: Ratio) -> None:
    result = score(replace(GOAL, attributes=tuple(case["goal"])), product(case["bought"]), {}, ratio=ratio)
    assert result.r_att == case["met"] / len(case["goal"])


@pytest.mark.parametrize("ratio", ["rapidfuzz", "difflib"])
@pytest.mark.parametrize("case", CASES["option"])
def test_options(case: dict[str, Any], ratio: Ratio) -> None:
    chosen = {str(number): value for number, value in enumerate(case["bought"])}
    result = score(replace(GOAL, options=tuple(case["goal"])), BOUGHT, chosen, ratio=ratio)
    assert result.r_option == (case["met"] / len(case["goal"]) if case["goal"] else None)


@pytest.mark.parametrize("ratio", ["rapidfuzz", "difflib"])
def test_rewards(ratio: Ratio) -> None:
    case = CASES["reward"]
    options = case["options"]
    goal = replace(GOAL, price_upper=case["prices"]["price_upper"], options=options)
    exact = replace(BOUGHT, price=case["prices"]["price"], attributes=goal.attributes)
    assert score(goal, exact, options, ratio=ratio).total == case["exact"]
    wordy = replace(product(case["wordy"]), price=case["prices"]["price"])
    assert score(goal, wordy, options, ratio=ratio).total == pytest.approx(case["without attributes"], abs=0.01)
    more = case["one more option"]
    goal = replace(goal, options=options | {more["name"]: more["value"]})
    assert score(goal, wordy, options, ratio=ratio).total == pytest.approx(more["total"], abs=0.01)
    kind = case["another kind"]
    goal = replace(goal, name=NAMES[kind["goal"]])
    other = replace(wordy, name=NAMES[kind["bought"]], query=kind["query"], product_category=kind["category"])
    result = score(goal, other, options, ratio=ratio)
    assert result.total == pytest.approx(kind["total"], abs=0.01)
    assert result.r_type == 0.5


@pytest.mark.parametrize(("text", "color"), CASES["color"])
def test_normalize_color(text: str, color: str) -> None:
    assert normalize_color(text) == color


def test_random_idx() -> None:
    case = CASES["random_idx"]
    rng = random.Random(case["seed"])
    goals = [replace(GOAL, index=at, weight=rng.randint(0, case["highest"])) for at in range(case["weights"])]
    assert [draw_goal(goals, rng, compat=True).index for _ in case["drawn"]] == case["drawn"]
