"""BM25 in memory, equal to Lucene 8 in scores and order (k1 = 0.9, b = 0.4: Anserini's defaults).

    score(d, q) = sum over terms t of q:  qtf * idf * tf / (tf + k1 * (1 - b + b * len(d) / avglen))
    idf = ln(1 + (N - df + 0.5) / (df + 0.5))

Document lengths are lossy as in Lucene (4 significant bits above 40), arithmetic is float32 in Lucene's order, and
ties fall to the smaller document id. Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009);
Lucene's BM25Similarity and SmallFloat for the roundings.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from envs.webshop.search.analyzer import terms

K1 = 0.9
B = 0.4

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Postings:
    """Where a term occurs: document numbers [df], and 1 + tf / norm of each [df]; idf of the term."""

    documents: NDArray[np.int32]
    saturation: Floats
    idf: np.float32


class SearchIndex:
    """An inverted index over (id, text) pairs; read-only once built.

    Example:
        index = SearchIndex([("b", "red shoes"), ("a", "blue shoes")])
        index.search("red shoe")  # ["b", "a"]
    """

    def __init__(self, documents: Iterable[tuple[str, str]]) -> None:
        # In order of their ids, so that a stable sort by score resolves ties as Lucene's collector does.
        texts = sorted(documents)
        self.ids = [document for document, _ in texts]
        found: dict[str, list[tuple[int, int]]] = {}
        lengths = []
        for number, (_, text) in enumerate(texts):
            counts = Counter(terms(text))
            lengths.append(counts.total())
            for term, count in counts.items():
                found.setdefault(term, []).append((number, count))
        self._postings = _weigh(found, lengths)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def vocabulary(self) -> frozenset[str]:
        """Every term of the index."""
        return frozenset(self._postings)

    def search(self, query: str, limit: int = 50) -> list[str]:
        """Return the ids of the best documents for the words of a query, best first; none for unknown words."""
        return [document for document, _ in self.ranked(query, limit)]

    def ranked(self, query: str, limit: int = 50) -> list[tuple[str, float]]:
        """Return (id, score) of the best documents, best first."""
        # Lucene sums the terms in float64 and rounds the sum once.
        total = np.zeros(len(self.ids), np.float64)
        for term, repeats in Counter(terms(query)).items():
            if (postings := self._postings.get(term)) is not None:
                weight = np.float32(repeats) * postings.idf
                total[postings.documents] += weight - weight / postings.saturation
        scores = total.astype(np.float32)
        best = _best(scores, limit)
        return [(self.ids[number], float(scores[number])) for number in best]


def _best(scores: Floats, limit: int) -> NDArray[np.intp]:
    """Return the numbers of the highest positive scores, ties in order of the number."""
    found = np.flatnonzero(scores > 0)
    if len(found) > limit > 0:
        # Everything tied with the last place stays in until the stable sort has decided.
        threshold = np.partition(scores[found], len(found) - limit)[len(found) - limit]
        found = found[scores[found] >= threshold]
    return found[np.argsort(-scores[found], kind="stable")][:limit]


def _weigh(found: dict[str, list[tuple[int, int]]], lengths: list[int]) -> dict[str, _Postings]:
    filled = sum(1 for length in lengths if length)
    if not filled:
        return {}
    average = np.float32(sum(lengths) / filled)
    rounded = np.array([lossy_length(length) for length in lengths], np.float32)
    k1, b = np.float32(K1), np.float32(B)
    one = np.float32(1)
    inverse = one / (k1 * ((one - b) + b * rounded / average))
    return {term: _postings(pairs, inverse, filled) for term, pairs in found.items()}


def _postings(pairs: list[tuple[int, int]], inverse: Floats, documents: int) -> _Postings:
    table = np.array(pairs, np.int32)
    numbers, counts = np.ascontiguousarray(table[:, 0]), table[:, 1].astype(np.float32)
    idf = math.log(1 + (documents - len(pairs) + 0.5) / (len(pairs) + 0.5))
    return _Postings(numbers, np.float32(1) + counts * inverse[numbers], np.float32(idf))


def lossy_length(length: int) -> int:
    """Round a document length down as Lucene stores it in a byte: exact below 40, then 4 significant bits."""
    if length < _EXACT + 16:
        return length
    rest = length - _EXACT
    shift = rest.bit_length() - 4
    return _EXACT + (rest >> shift << shift)


# Lucene's SmallFloat keeps the 24 lowest values free of rounding and begins its 4-bit floats above them.
_EXACT = 24
