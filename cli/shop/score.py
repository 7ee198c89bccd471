"""The last page: what was bought, and what its score is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from cli.view.safe_text import line
from envs.webshop.catalog.goals import NO_CEILING, Goal
from envs.webshop.catalog.product import Product
from envs.webshop.reward.reward import Score

_BAR = 16


def bought(goal: Goal, product: Product, options: Mapping[str, str], score: Score) -> Iterator[RenderableType]:
    """Draw the purchase and its score: the total, the parts in bars, and in words what each was measured by."""
    chosen = ", ".join(f"{name}: {value}" for name, value in options.items()) or "no option chosen"
    yield _said("You bought", f"{product.title} ({product.price_text}; {chosen})")
    yield _said("Wanted was", goal.name)
    yield Text()
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, show_footer=True)
    table.add_column("", "kind x sum")
    table.add_column("")
    table.add_column("met", justify="right")
    table.add_column("points", f"{score.total:.2f}", justify="right", footer_style="bold")
    for name, share, met, weight in _parts(goal, score):
        bar = ProgressBar(total=1, completed=share, width=_BAR, complete_style="green", finished_style="green")
        table.add_row(name, bar, met, f"{share * weight:.2f} of {weight:.2f}")
    kind = ProgressBar(total=1, completed=score.r_type, width=_BAR, complete_style="green", finished_style="green")
    table.add_row("right kind", kind, "", f"x {score.r_type:.2f}")
    yield Padding(table, (0, 1), expand=False)
    yield Text()
    yield _said("Attributes", ", ".join(goal.attributes))
    yield _said("Options", ", ".join(_wishes(goal)) or "none was asked for")
    yield _said("Price", _price(goal, product, score))
    yield _said("Kind", _kind(score))
    met, style = ("all", "bold green") if score.success else ("not all", "bold yellow")
    yield line((f"Your score: {score.total:.2f} of 1.00, {met} that was asked for.", style), above=1)


def _parts(goal: Goal, score: Score) -> Iterator[tuple[str, float, str, float]]:
    """What is summed up: name, share met, that in words, and weight in the sum."""
    yield "attributes", score.r_att, _of(score.r_att, len(goal.attributes)), score.w_att
    if score.r_option is not None and score.w_option is not None:
        yield "options", score.r_option, _of(score.r_option, len(goal.option_values)), score.w_option
    yield "price", float(score.r_price), "yes" if score.r_price else "no", score.w_price


def _of(share: float, whole: int) -> str:
    return f"{round(share * whole)} of {whole}"


def _wishes(goal: Goal) -> list[str]:
    if isinstance(goal.options, Mapping):
        return [f"{name}: {value}" for name, value in goal.options.items()]
    return list(goal.options)


def _price(goal: Goal, product: Product, score: Score) -> str:
    if goal.price_upper == NO_CEILING:
        return f"${product.price:.2f}, and no limit was set"
    return f"${product.price:.2f} is {'within' if score.r_price else 'above'} the limit of ${goal.price_upper:.2f}"


def _kind(score: Score) -> str:
    query = "the same query" if score.query_match else "another query"
    category = "a like category" if score.category_match else "another category"
    return f"{query}, {category}; {score.title_score:.0%} of the title's nouns ({score.nouns})"


def _said(what: str, text: str) -> Padding:
    return line((f"{what}: ", "cyan"), text)
