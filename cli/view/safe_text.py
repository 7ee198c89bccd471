"""Text from catalogues and users, made fit for a terminal: what a seller writes must not move the cursor."""

from __future__ import annotations

import regex
from rich.padding import Padding
from rich.text import Text

_SPACES = regex.compile(r"\s")
# Controls (escapes begin with one), format characters (they turn text around or hide it), lone halves of surrogate
# pairs (they cannot be written), characters of private meaning, and separators of lines and paragraphs.
_UNFIT = regex.compile(r"[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]")
_PILED_MARKS = regex.compile(r"(\p{M}{4})\p{M}+")  # languages need a few on one letter; more smear the lines around


def safe(text: str) -> str:
    """Return a text as one line of characters that do nothing but show; any white space becomes a plain space."""
    return str(_PILED_MARKS.sub(r"\1", _UNFIT.sub("", _SPACES.sub(" ", text))))


def line(*parts: str | tuple[str, str], above: int = 0) -> Padding:
    """Return safe texts, some of them with a style, as one paragraph with a margin of one column."""
    styled = [(safe(part), "") if isinstance(part, str) else (safe(part[0]), part[1]) for part in parts]
    return Padding(Text.assemble(*styled, overflow="fold"), (above, 0, 0, 1), expand=False)
