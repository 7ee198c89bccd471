"""BM25 in memory, equal to Lucene 8 in scores and order (k1 = 0.9, b = 0.4: Anserini's defaults).

    score(d, q) = sum over terms t of q:  qtf * idf * tf / (tf + k1 * (1 - b + b * len(d) / avglen))
    idf = ln(1 + (N - df + 0.5) / (df + 0.5))

Document lengths are lossy as in Lucene (4 significant bits above 40), arithmetic is float32 in Lucene's order, and
ties fall to the smaller document id. Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009);
Lucene's BM25Similarity and SmallFloat for the roundings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from envs.webshop.search.analyzer import terms
from envs.webshop.search.postings import Floats, Postings


class SearchIndex:
    """An inverted index over (id, text) pairs; read-only once built, and safe to search from several threads.

    Example:
        index = SearchIndex([("b", "red shoes"), ("a", "blue shoes")])
        index.search("red shoe")  # ["b", "a"]
    """

    def __init__(self, documents: Iterable[tuple[str, str]] | Postings) -> None:
        self._postings = documents if isinstance(documents, Postings) else Postings.of(documents)

    @classmethod
    def open(cls, folder: str | Path) -> SearchIndex:
        """Open a saved index, memory-mapped: processes share its pages. Raises DataError for what is none."""
        return cls(Postings.open(Path(folder)))

    def save(self, folder: str | Path) -> None:
        """Write the index to a folder for `open`; an older one there is replaced. Raises OSError."""
        self._postings.save(Path(folder))

    def __len__(self) -> int:
        return len(self._postings.ids)

    @property
    def vocabulary(self) -> frozenset[str]:
        """Every term of the index."""
        return frozenset(self._postings.rows)

    def search(self, query: str, limit: int = 50) -> list[str]:
        """Return the ids of the best documents for the words of a query, best first; none for unknown words."""
        return [document for document, _ in self.ranked(query, limit)]

    def ranked(self, query: str, limit: int = 50) -> list[tuple[str, float]]:
        """Return (id, score) of the best documents, best first."""
        postings = self._postings
        # Lucene sums the terms in float64 and rounds the sum once.
        total = np.zeros(len(postings.ids), np.float64)
        for term, repeats in Counter(terms(query)).items():
            if (row := postings.rows.get(term)) is not None:
                at = slice(postings.starts[row], postings.starts[row + 1])
                weight = np.float32(repeats) * postings.idf[row]
                gain = weight - weight / postings.saturation[at]
                np.add.at(total, postings.documents[at], gain.astype(np.float64))  # of one type, twice as fast as +=
        scores = total.astype(np.float32)
        return [(postings.ids[number], float(scores[number])) for number in _best(scores, limit)]


def _best(scores: Floats, limit: int) -> NDArray[np.intp]:
    """Return the numbers of the highest positive scores, ties in order of the number."""
    found = np.flatnonzero(scores >= _bound(scores, limit))
    if len(found) > limit > 0:
        # Everything tied with the last place stays in until the stable sort has decided.
        threshold = np.partition(scores[found], len(found) - limit)[len(found) - limit]
        found = found[scores[found] >= threshold]
    return found[np.argsort(-scores[found], kind="stable")][:limit]


def _bound(scores: Floats, limit: int) -> np.float32:
    """Return a positive score that at least `limit` documents reach, if so many score at all.

    The best scores of as many blocks are such documents, and finding those reads the scores just once.
    """
    smallest: np.float32 = np.nextafter(np.float32(0), np.float32(1))
    blocks = len(scores) // _BLOCK
    if limit <= 0 or blocks < limit:
        return smallest
    tops = scores[: blocks * _BLOCK].reshape(blocks, _BLOCK).max(axis=1)
    bound: np.float32 = np.partition(tops, blocks - limit)[blocks - limit]
    return max(smallest, bound)


_BLOCK = 1024
