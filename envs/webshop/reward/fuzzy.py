"""How alike two texts are, from 0 to 100: thefuzz 0.22.1's token_set_ratio, on rapidfuzz.

Each text becomes lower-case words in a set; the score is the best indel similarity between the common words alone and
the common words followed by the rest of either text. A set of words inside the other therefore scores 100.
"""

from __future__ import annotations

from rapidfuzz import fuzz, utils

MATCH = 85
"""Texts match when they are alike by more than this."""

# thefuzz drops the second half of Latin-1 and nothing else, though it calls this "force ASCII".
_DROPPED = dict.fromkeys(range(128, 256))


def token_set_ratio(one: object, other: object) -> int:
    """Return the likeness of two objects' texts, 0 where a text has no word."""
    return round(fuzz.token_set_ratio(_process(one), _process(other)))


def matches(one: object, other: object) -> bool:
    """Tell whether two texts are alike enough for the reward."""
    return token_set_ratio(one, other) > MATCH


def _process(value: object) -> str:
    text: str = utils.default_process(str(value).translate(_DROPPED))
    return text
