"""How alike two texts are, from 0 to 100: thefuzz's token_set_ratio, in two versions.

Each text becomes lower-case words in a set; the score is the best likeness between the common words alone, the common
words followed by the rest of one text, and those followed by the rest of the other. A set of words inside the other
therefore scores 100. The versions differ in what likeness is: "rapidfuzz" is thefuzz 0.22.1 (indel similarity),
"difflib" thefuzz 0.19.0 without python-Levenshtein, which WebShop pinned: the matching blocks of Python's difflib.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import Literal

from rapidfuzz import fuzz, utils

Ratio = Literal["rapidfuzz", "difflib"]

MATCH = 85
"""Texts match when they are alike by more than this."""

# thefuzz drops the second half of Latin-1 and nothing else, though it calls this "force ASCII".
_DROPPED = dict.fromkeys(range(128, 256))
_NOT_IN_WORD = re.compile(r"\W")


def token_set_ratio(one: object, other: object, ratio: Ratio = "rapidfuzz") -> int:
    """Return the likeness of two objects' texts, 0 where a text has no word."""
    texts = str(one).translate(_DROPPED), str(other).translate(_DROPPED)
    if ratio == "difflib":
        return _token_set_difflib(*(set(_NOT_IN_WORD.sub(" ", text).lower().split()) for text in texts))
    return round(fuzz.token_set_ratio(*map(utils.default_process, texts)))


def matches(one: object, other: object, ratio: Ratio = "rapidfuzz") -> bool:
    """Tell whether two texts are alike enough for the reward."""
    return token_set_ratio(one, other, ratio) > MATCH


def _token_set_difflib(one: set[str], other: set[str]) -> int:
    if not one or not other:
        return 0
    common, *rests = (" ".join(sorted(words)) for words in (one & other, one - other, other - one))
    first, second = (f"{common} {rest}".strip() for rest in rests)
    return max(_likeness(common, first), _likeness(common, second), _likeness(first, second))


def _likeness(one: str, other: str) -> int:
    return round(100 * SequenceMatcher(None, one, other).ratio()) if one and other else 0
