"""A scripted shopper: a reference score, and the teacher of the pocket policy.

It takes one decision a turn, the quick or the careful way, and says which in a *thought word* before the action:
search for the kind of product alone or for everything asked for; open the first result or the one whose line fits
best; buy at once or choose an option first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from envs.webshop.catalog.goals import Goal
from envs.webshop.catalog.product import Product
from envs.webshop.shop.state import Page, ShopState

Decision = Literal["search", "open", "choose", "buy"]
Diligence = Callable[[Goal, Decision], bool]
"""Whether a decision on the way to a goal is taken the careful way."""

QUICK, CAREFUL = "quick", "careful"


def careful(goal: Goal, decision: Decision) -> bool:
    """Take every decision with care."""
    return True


def hurried(goal: Goal, decision: Decision) -> bool:
    """Take every decision the quick way."""
    return False


@dataclass(frozen=True, slots=True)
class Shopper:
    """Plays one goal with the given diligence, looking at so many results of a page.

    Example:
        Shopper(goal).reply(state, catalog.products.__getitem__)  # "careful click[ red]"
    """

    goal: Goal
    diligence: Diligence = careful
    results: int = 5

    def reply(self, state: ShopState, product_of: Callable[[str], Product]) -> str:
        """Say a thought word and an action; a space inside the bracket spells words as they are spelled elsewhere."""
        match state.page:
            case Page.INDEX:
                return self._search()
            case Page.RESULTS:
                return self._open([product_of(asin) for asin in state.shown[: self.results]])
        return self._choose_or_buy(state)

    def _search(self) -> str:
        if not self.diligence(self.goal, "search"):
            return f"{QUICK} search[ {self.goal.query}]"
        text = self.goal.instruction.lower()
        words = [self.goal.query, *self.goal.attributes]
        return f"{CAREFUL} search[ {' '.join(sorted(words, key=lambda word: text.find(word.lower())))}]"

    def _open(self, shown: Sequence[Product]) -> str:
        if not shown:
            return f"{QUICK} search[ {self.goal.query}]"
        if not self.diligence(self.goal, "open"):
            return f"{QUICK} click[ {shown[0].asin.lower()}]"
        best = max(shown, key=self._fit)
        return f"{CAREFUL} click[ {best.asin.lower()}]"

    def _fit(self, product: Product) -> int:
        """How much of the goal a line of results meets: attributes in the title, and the price."""
        met = sum(attribute in product.title.lower() for attribute in self.goal.attributes)
        return met + (product.price <= self.goal.price_upper)

    def _choose_or_buy(self, state: ShopState) -> str:
        wanted = self._missing(state)
        if not wanted:
            return f"{CAREFUL if self.diligence(self.goal, 'buy') else QUICK} click[ buy now]"
        if not self.diligence(self.goal, "choose"):
            return f"{QUICK} click[ buy now]"
        return f"{CAREFUL} click[ {wanted[0]}]"

    def _missing(self, state: ShopState) -> list[str]:
        """Wanted option values that the product offers and that are not chosen yet, in the goal's order."""
        offered = {value for values in state.product.options.values() for value in values} if state.product else set()
        chosen = set(state.options.values())
        return [value for value in self.goal.option_values if value in offered and value not in chosen]
