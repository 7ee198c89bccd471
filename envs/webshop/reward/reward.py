"""The reward of a purchase: version "v2022-fuzzy", as the original computes it since it matches texts loosely.

    total = r_type * (attributes met + options met + [price <= ceiling]) / (attributes + options + 1)

Known looseness is kept, so that scores compare with published ones: "large" meets "x-large", "grey" meets "dark grey".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from envs.webshop.catalog.goals import Goal
from envs.webshop.catalog.product import Product
from envs.webshop.reward.colors import normalize_color
from envs.webshop.reward.fuzzy import Ratio, matches
from envs.webshop.reward.nouns import RULE, NounFinder

REWARD_VERSION = "v2022-fuzzy"
"""Changes when equal purchases come to be worth something else. Scores of the years before, with exact matching, and
scores with unlike noun finders or ratios do not compare."""

_SEPARATOR = "\u203a"  # between the levels of a product category


@dataclass(frozen=True, slots=True)
class Score:
    """A reward and its parts, all in [0, 1].

    `r_option` and `w_option` are None when the goal asks for no option. Weights are shares of the sum in brackets.
    `nouns` names the noun finder that `title_score` rests on, `ratio` the likeness that `r_att` and `r_option` do.
    """

    total: float
    r_type: float
    r_att: float
    r_option: float | None
    r_price: bool
    w_att: float
    w_option: float | None
    w_price: float
    query_match: bool
    category_match: bool
    title_score: float
    nouns: str
    ratio: Ratio

    @property
    def success(self) -> bool:
        """Whether the purchase is all that was asked for."""
        return self.total == 1.0

    @property
    def parts(self) -> dict[str, Any]:
        """The parts under the names, and with the omissions, of the original's verbose info."""
        names = ["r_type", "r_att", "w_att", "query_match", "category_match", "title_score"]
        names += ["r_option", "w_option"] if self.r_option is not None else []
        return {name: getattr(self, name) for name in [*names, "r_price", "w_price"]}


def score(
    goal: Goal,
    product: Product,
    options: Mapping[str, str],
    nouns: NounFinder = RULE,
    ratio: Ratio = "rapidfuzz",
) -> Score:
    """Score the purchase of a product with chosen options (name to value) for a goal.

    An option not chosen just doesn't match. The product's own drawn `price` is compared with the ceiling. `ratio`
    says how alike texts are, see `token_set_ratio`; on real pairs the two differ in one decision out of 1,500.
    """
    query_match = product.query == goal.query
    category_match = _category_match(product.product_category, goal.product_category)
    title = _title_score(nouns(product.name), nouns(goal.name))
    r_type = _type_factor(query_match or category_match, title)
    wanted = list(goal.options.items()) if isinstance(goal.options, Mapping) else list(goal.options)
    attributes_met = sum(_has_attribute(product, attribute, ratio) for attribute in goal.attributes)
    options_met = _options_met(list(options.values()), wanted, ratio)
    r_price = product.price <= goal.price_upper
    whole = len(goal.attributes) + len(wanted) + 1
    return Score(
        total=r_type * ((attributes_met + options_met + r_price) / whole),
        r_type=r_type,
        r_att=attributes_met / len(goal.attributes),
        r_option=options_met / len(wanted) if wanted else None,
        r_price=r_price,
        w_att=len(goal.attributes) / whole,
        w_option=len(wanted) / whole if wanted else None,
        w_price=1 / whole,
        query_match=query_match,
        category_match=category_match,
        title_score=title,
        nouns=nouns.name,
        ratio=ratio,
    )


def _category_match(one: str, other: str) -> bool:
    """Tell whether two category paths share at least two levels, wherever they stand."""
    levels = ({level.strip() for level in path.split(_SEPARATOR)} for path in (one, other))
    return len(set.intersection(*levels)) >= 2


def _title_score(bought: tuple[str, ...], wanted: tuple[str, ...]) -> float:
    """Divide the distinct common nouns by all wanted ones, repetitions included."""
    return len(set(bought) & set(wanted)) / len(wanted) if wanted else 0.2


def _type_factor(matched: bool, title: float) -> float:
    """Judge the kind of product; names that share almost nothing overrule a match of query or category."""
    if title == 0.0:
        return 0.0
    if title < 0.1:
        return 0.1
    return 1.0 if matched or title > 0.2 else 0.5


def _has_attribute(product: Product, wanted: str, ratio: Ratio) -> bool:
    """Look for an attribute in the product's attributes, then word for word in its texts."""
    if any(matches(attribute, wanted, ratio) for attribute in product.attributes):
        return True
    texts = (product.title, " ".join(product.bullets), product.description)
    return any(wanted in text.lower() for text in texts)


def _options_met(chosen: list[str], wanted: list[str] | list[tuple[str, str]], ratio: Ratio) -> int:
    """Count the wanted options that some chosen value is like; a pair is compared as the text of a Python tuple."""
    colors = [normalize_color(value) for value in chosen]
    return sum(any(matches(color, normalize_color(wish), ratio) for color in colors) for wish in wanted)
