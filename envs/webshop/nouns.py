"""Nouns of a product name, by rule: what tells whether two names mean the same kind of thing.

The original asks a spaCy model, and its published tests hold for one that can no longer be installed beside current
libraries. This rule passes all five of those tests with no model: every word counts but function words, "mens" and
"womens", and words in -ed that don't open the name.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Protocol


class NounFinder(Protocol):
    """Finds the nouns of a name; `name` is recorded with every score."""

    @property
    def name(self) -> str:
        """Which finder and version this is."""
        ...

    def __call__(self, text: str) -> tuple[str, ...]:
        """Return the nouns of a text in lower case, repeated ones included."""
        ...


_WORD = re.compile(r"[^\W\d_]+(?:\.[^\W\d_])*(?:['\u2019][^\W\d_]+)?")

# fmt: off
_NOT_NOUNS = frozenset({
    "a", "about", "above", "after", "all", "also", "an", "and", "any", "are", "as", "at", "be", "been", "before",
    "below", "between", "both", "but", "by", "can", "could", "do", "does", "down", "each", "either", "every", "few",
    "for", "from", "had", "has", "have", "her", "his", "how", "i", "if", "in", "into", "is", "it", "its", "just",
    "like", "many", "may", "more", "most", "much", "my", "no", "nor", "not", "of", "on", "only", "onto", "or",
    "other", "our", "out", "over", "per", "same", "she", "should", "so", "some", "such", "than", "that", "the",
    "their", "them", "then", "there", "these", "they", "this", "those", "through", "to", "too", "under", "until",
    "up", "very", "via", "was", "we", "were", "what", "when", "where", "which", "while", "who", "will", "with",
    "within", "without", "you", "your", "mens", "womens", "men's", "women's",
})
# fmt: on


class RuleNouns:
    """The rule of this module, with its results cached."""

    name = "rule-1"

    def __call__(self, text: str) -> tuple[str, ...]:
        """Return the words of a name that are taken for nouns."""
        return _nouns(text)


@lru_cache(1 << 16)
def _nouns(text: str) -> tuple[str, ...]:
    words = [word.lower().replace("\u2019", "'") for word in _WORD.findall(text)]
    return tuple(
        word for at, word in enumerate(words) if word not in _NOT_NOUNS and (at == 0 or not word.endswith("ed"))
    )


RULE = RuleNouns()
"""The finder that scores use unless told otherwise."""
