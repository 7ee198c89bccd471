"""The pages of the shop, drawn for a terminal. Every text of the catalogue goes through `safe` and is no markup."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.box import SIMPLE_HEAD
from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from cli.shop.menu import Menu
from cli.shop.score import bought
from cli.view.safe_text import line, safe
from envs.webshop.catalog.product import Product
from envs.webshop.shop.shop import TextShop
from envs.webshop.shop.state import PAGE_SIZE, Page, ShopState

_HELP = {
    "words": "search for them; on a product's page, an option's own words choose it",
    "3": "open or choose what has this number",
    "n, p, b, ...": "what the keys below a page say",
    "search[words]": "or click[button]: an agent's own words do as well",
    "Enter": "show the page again",
    "q": "or Ctrl-D: quit",
}

_WIDE = 80


def draw(console: Console, shop: TextShop, menu: Menu, title: str) -> None:
    """Print the page a shop is on, the goal on top and the keys at the bottom."""
    goal = Panel(Text(safe(shop.goal.instruction)), title=Text(title), title_align="left", border_style="cyan")
    console.print(goal, Group(*_body(shop, console.width)), _keys(menu), sep="\n")


def help_page() -> RenderableType:
    """Draw what one can type."""
    table = Table.grid(padding=(0, 2))
    for typed, meaning in _HELP.items():
        table.add_row(Text(typed, "bold cyan"), Text(meaning))
    return Padding(table, (0, 0, 0, 1), expand=False)


def _body(shop: TextShop, width: int) -> Iterator[RenderableType]:
    state = shop.state
    match state.page:
        case Page.INDEX:
            yield line("Type what to search for.")
        case Page.RESULTS:
            yield from _results(state, shop.catalog.products, width)
        case Page.ITEM if state.product:
            yield from _item(state.product, state.options)
        case Page.SUBPAGE if state.product:
            yield line((state.product.title, "bold"))
            yield Panel(_details(state.product, state.subpage), title=Text(state.subpage), title_align="left")
        case Page.DONE if state.product and shop.score:
            yield from bought(shop.goal, state.product, state.options, shop.score)


def _results(state: ShopState, products: Mapping[str, Product], width: int) -> Iterator[RenderableType]:
    pages = -(-len(state.results) // PAGE_SIZE)
    if not state.shown:
        yield line((f'Nothing found for "{state.query}". Other or fewer words may do.', "yellow"))
        return
    yield line(f'"{state.query}": {len(state.results)} found, page {state.number} of {pages}')
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("#", justify="right", style="bold cyan", no_wrap=True)
    table.add_column("Product", overflow="fold", ratio=1)
    table.add_column("Price", justify="right", style="green")
    if width >= _WIDE:
        table.add_column("Id", style="dim", no_wrap=True)
    for number, product in enumerate((products[asin] for asin in state.shown), 1):
        cells = [str(number), *map(safe, (product.title, product.price_text, product.asin))]
        table.add_row(*map(Text, cells[: len(table.columns)]))
    yield Padding(table, (1, 0, 0, 1), expand=False)


def _item(product: Product, chosen: Mapping[str, str]) -> Iterator[RenderableType]:
    yield line((product.title, "bold"))
    yield line((f"Price: {product.price_text}", "green"), (f"   Id: {product.asin}", "dim"))
    number = 0
    for name, values in product.options.items():
        mine = chosen.get(name)
        yield line((f"{name}: ", "cyan"), "choose one" if mine is None else (mine, "bold green"), above=1)
        shown = [_value(number + at, value, value == mine) for at, value in enumerate(dict.fromkeys(values), 1)]
        number += len(shown)
        yield Padding(Columns(shown, padding=(0, 2)), (0, 1), expand=False)


def _value(number: int, value: str, chosen: bool) -> Text:
    """Write an option value with its number; a star marks the chosen one where there is no colour."""
    mark, style = ("*", "bold green") if chosen else (" ", "")
    return Text.assemble((f"{mark}{number} ", style or "bold cyan"), (safe(value), style), overflow="fold")


def _details(product: Product, subpage: str) -> Text:
    bullets = [product.bullets] if isinstance(product.bullets, str) else product.bullets
    lines = {"Description": product.description.splitlines(), "Features": [f"- {b}" for b in bullets if b.strip()]}
    text = "\n".join(safe(line) for line in lines.get(subpage, ()))
    return Text(text, overflow="fold") if text.strip() else Text("nothing here", "dim")


def _keys(menu: Menu) -> RenderableType:
    keys = [(letter, label) for letter, (_, label) in menu.keys.items()]
    keys += [("n", "next goal")] if menu.page is Page.DONE else []
    keys += [("?", "help"), ("q", "quit")]
    shown = [Text.assemble((letter, "bold cyan"), f" {label}") for letter, label in keys]
    return Padding(Columns(shown, padding=(0, 2)), (1, 1, 0, 1), expand=False)
