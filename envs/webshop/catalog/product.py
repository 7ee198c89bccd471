"""A product of the shop, as it is once its raw record has been cleaned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class HumanInstruction:
    """What a crowd worker asked for: the words, the attributes and the option values that count."""

    instruction: str
    attributes: tuple[str, ...]
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Product:
    """One product for sale.

    `name` is what the reward compares and `title` what is shown; loading makes them equal. `bullets` may be a
    plain string, which the reward then joins character by character as the original does; loading never makes one.
    `options` maps an option name to its values in the order shown, both in lower case. `pricing` holds one or two
    numbers in dollars, `price_text` how they are shown, and `price` the one that counts, drawn once per catalogue
    when there are two. `instruction` and `instruction_attributes` are the source of synthetic goals, `human` that
    of crowd-sourced ones.
    """

    asin: str
    name: str
    title: str = ""
    description: str = ""
    bullets: tuple[str, ...] | str = ()
    category: str = ""
    query: str = ""
    product_category: str = ""
    attributes: tuple[str, ...] = ()
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    pricing: tuple[float, ...] = (100.0,)
    price_text: str = "$100.0"
    price: float = 100.0
    instruction: str | None = None
    instruction_attributes: tuple[str, ...] = ()
    human: tuple[HumanInstruction, ...] = ()
    image: str | None = None

    def __hash__(self) -> int:
        return hash(self.asin)

    @property
    def option_text(self) -> str:
        """All options in one line, as the search index reads them."""
        return ", and ".join(f"{name}: {', '.join(values)}" for name, values in self.options.items())
