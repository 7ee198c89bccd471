"""Sessions of people on the original's site, replayed.

The logs are of the full catalogue and tell of a product only its id, price and chosen options. So the shelves are
stocked with what the log names, a search finds what it found then, and what the reward takes from an unknown name,
attributes or category is set to the logged part; goal, options, price and the sum are computed anew.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from envs.webshop.catalog.catalog import Catalog
from envs.webshop.catalog.product import Product
from envs.webshop.reward.reward import score
from envs.webshop.shop.shop import TextShop
from envs.webshop.shop.state import Page
from tests.envs.webshop.reward.golden import goal_of

Line = Mapping[str, Any]

PAGES = {
    "index": Page.INDEX,
    "search_results": Page.RESULTS,
    "item_page": Page.ITEM,
    "item_sub_page": Page.SUBPAGE,
    "done": Page.DONE,
}


@pytest.fixture(scope="module")
def sessions(real_folder: Path) -> list[list[Line]]:
    """The logged sessions, a list of pages each."""
    files = sorted((real_folder / "human_sessions").glob("*.jsonl"))
    if not files:
        pytest.skip(f"no human_sessions in {real_folder}")
    return [[json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] for file in files]


class Shelves(Catalog):
    """What one session saw of the full catalogue; a search finds what it found then."""

    def __init__(self, lines: list[Line]) -> None:
        self._found: dict[str, dict[int, list[str]]] = {}
        chosen: dict[str, dict[str, str]] = {}
        for content in (line.get("content", {}) for line in lines):
            if "search_result_asins" in content:
                pages = self._found.setdefault(" ".join(content["keywords"]), {})
                pages[content["page"]] = content["search_result_asins"]
            elif "asin" in content:
                chosen.setdefault(content["asin"], {}).update(content["options"])
        shown = {asin for pages in self._found.values() for asins in pages.values() for asin in asins}
        options = {asin: {name: (value,) for name, value in chosen.get(asin, {}).items()} for asin in shown}
        super().__init__((Product(asin, "?", options=options[asin]) for asin in sorted(shown)), rng=random.Random(0))

    def search(self, query: str, limit: int = 50) -> list[str]:
        pages = self._found[query]
        return [asin for number in sorted(pages) for asin in pages[number]]


def action(before: Line, line: Line) -> str:
    """Say what leads from one logged page to the next."""
    content, earlier = line.get("content", {}), before.get("content", {})
    match line["page"]:
        case "index":
            return "click[back to search]"
        case "search_results":
            if before["page"] == "search_results":
                return "click[next >]" if content["page"] > earlier["page"] else "click[< prev]"
            return f"search[{' '.join(content['keywords'])}]" if before["page"] == "index" else "click[< prev]"
        case "item_page":
            if before["page"] == "search_results":
                return f"click[{content['asin']}]"
            new = [value for name, value in content["options"].items() if earlier["options"].get(name) != value]
            return f"click[{new[0]}]" if new else "click[< prev]"
        case "item_sub_page":
            return f"click[{line['url'].split('/')[-2]}]"
    return "click[buy now]"


@pytest.mark.parametrize("compat", [False, True])
def test_the_shop_can_turn_the_same_pages(sessions: list[list[Line]], compat: bool) -> None:
    for lines in sessions:
        shop = TextShop(Shelves(lines), compat, goals=[goal_of(lines[0]["goal"])])
        shop.reset(goal=0)
        assert lines[0]["page"] == "index"
        for before, line in itertools.pairwise(lines):
            *_, terminated, _, info = shop.step(action(before, line))
            content = line.get("content", {})
            assert info["action_valid"], (line["url"], info["error"])
            assert shop.state.page is PAGES[line["page"]]
            assert terminated == (line["page"] == "done")
            assert shop.state.options == content.get("options", {})
            if line["page"] == "search_results":
                assert list(shop.state.shown) == content["search_result_asins"]
            if "asin" in content:
                assert shop.state.product
                assert shop.state.product.asin == content["asin"]


@dataclass(frozen=True)
class Overlap:
    """Nouns of which a purchase has the logged share; the goal is the only text it is asked for twice."""

    share: Fraction
    name: str = "as logged"

    def __call__(self, text: str) -> tuple[str, ...]:
        count = self.share.denominator if text == "goal" else self.share.numerator
        return tuple(map(str, range(count)))


def _known(goal: Mapping[str, Any], info: Mapping[str, Any], price: float) -> Product:
    """Make the product that the log's parts describe."""
    met = round(info["r_att"] * len(goal["attributes"]))
    levels = goal["product_category"].split(" \u203a ")
    return Product(
        "B1",
        "bought",
        query=goal["query"] if info["query_match"] else "",
        product_category=" \u203a ".join(levels[: 2 * info["category_match"]]),
        attributes=tuple(goal["attributes"][:met]),
        price=price,
    )


def test_the_reward_is_what_people_got(sessions: list[list[Line]]) -> None:
    finals = [(lines[0]["goal"], lines[-1]) for lines in sessions if lines[-1]["page"] == "done"]
    assert len(finals) == len(sessions)
    for wanted, final in finals:
        info, content = final["reward_info"], final["content"]
        nouns = Overlap(Fraction(info["title_score"]).limit_denominator(100))
        goal = goal_of({**wanted, "name": "goal"})
        result = score(goal, _known(wanted, info, content["price"]), content["options"], nouns)
        assert result.total == final["reward"]
        assert {key: result.parts[key] for key in info} == info


def test_the_one_purchase_of_the_wanted_product_itself(sessions: list[list[Line]]) -> None:
    """Here the goal tells all there is to know of the product but its attributes; the title has the one asked for."""
    same = [lines for lines in sessions if lines[-1]["content"]["asin"] == lines[0]["goal"]["asin"]]
    assert len(same) > 0
    for lines in same:
        goal, final = goal_of(lines[0]["goal"]), lines[-1]
        bought = Product(
            goal.asin,
            goal.name,
            title=goal.name,
            query=goal.query,
            product_category=goal.product_category,
            price=final["content"]["price"],
        )
        assert score(goal, bought, final["content"]["options"]).total == final["reward"]
