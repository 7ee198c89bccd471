"""What a page is made of, and the two ways in which an observation writes it down.

The original renders HTML and reads the texts back out of it. Of that detour three rules remain: a text that is empty
vanishes; one of blanks only counts as one blank, and vanishes when it has a line break in it; all others stay as
they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

SEPARATOR = " [SEP] "

_BLANKS = " \n\t\f\r"


class Kind(Enum):
    """What an element is; the value is how `text_rich` writes it."""

    TEXT = "{}\n"
    BUTTON = "[button] {} [button_]\n"
    OPTION = "  [button] {} [button_]\n"
    CLICKED_OPTION = "  [clicked button] {} [clicked button_]\n"
    LINK = "\n[button] {} [button_]\n"
    CLICKED_LINK = "\n[clicked button] {} [clicked button_]\n"


class Element(NamedTuple):
    """One text of a page, as it stands in the page: not stripped."""

    text: str
    kind: Kind = Kind.TEXT


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """A way of writing pages down: how one element is written, and what stands between two."""

    between: str
    one: Callable[[Element], str]

    def write(self, elements: Iterable[Element]) -> str:
        """Write the visible elements down."""
        return self.between.join([self.one(element) for element in visible(elements)])


def visible(elements: Iterable[Element]) -> list[Element]:
    """Keep the elements that are seen, blank ones as one blank."""
    kept = []
    for element in elements:
        if element.text.strip(_BLANKS):
            kept.append(element)
        elif element.text and "\n" not in element.text:
            kept.append(Element(" ", element.kind))
    return kept


TEXT = Form(SEPARATOR, lambda element: element.text.strip())
"""The original's `text`: stripped texts between separators, in which a button looks like any other text."""

RICH = Form("", lambda element: element.kind.value.format(element.text))
"""The original's `text_rich`: one line per text, with buttons and clicked buttons marked."""
