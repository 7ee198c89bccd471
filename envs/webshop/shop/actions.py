"""The agent's words as an action: `search[words]` or `click[button]`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple

from envs.webshop.catalog.item import plain

_LENIENT = re.compile(r"\s*(search|click)\s*\[(.+)\]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Action:
    """A search for words or a click on a button, in lower case."""

    verb: Literal["search", "click"]
    argument: str


class AvailableActions(NamedTuple):
    """What the page allows: whether one may search, and what one may click, in page order and lower case."""

    search: bool
    clickables: tuple[str, ...]


def parse(text: str) -> Action | None:
    """Read an action at the start of a text; None when there is none.

    The argument ends at the last closing bracket of the line, so that brackets within it are kept: "click[a [b]]"
    clicks "a [b]". What follows is ignored. Upper case and surrounding or repeated spaces make no difference.
    """
    found = _LENIENT.match(text)
    argument = plain(found[2]) if found else ""
    return Action("search" if found[1].lower() == "search" else "click", argument) if found and argument else None


def parse_strictly(text: str) -> Action | None:
    """Read an action as the original does: brackets within the argument, upper-case verbs and spaces break it.

    Its greedy pattern `name[argument]`, found from the right: a pattern takes quadratic time on many brackets.
    """
    line = text.partition("\n")[0]
    end = line.rfind("]")
    start = line.rfind("[", 0, max(end - 1, 0))
    argument = line[start + 1 : end].lower()
    match line[: max(start, 0)]:
        case "search":
            return Action("search", argument)
        case "click":
            return Action("click", argument)
    return None
