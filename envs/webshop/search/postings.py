"""An inverted index as flat arrays: made from a stream of documents, kept in memory or mapped from disk."""

from __future__ import annotations

import json
import math
import os
import shutil
from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from aes.errors import DataError
from envs.webshop.search.analyzer import terms

K1 = 0.9
B = 0.4

Floats = NDArray[np.float32]
Integers = NDArray[np.int32]

_FORMAT = 1
_ARRAYS = ("starts", "documents", "saturation", "idf")


@dataclass(frozen=True, slots=True)
class Postings:
    """Which documents hold a term, and how much of it, term by term.

    Attributes:
        ids: the documents' ids in ascending order; a document's number is its place here.
        rows: term -> its row.
        starts: [terms + 1]; the postings of row r are `starts[r]:starts[r + 1]` of the next two.
        documents: [postings] document numbers, ascending within a row.
        saturation: [postings] 1 + tf / (k1 * (1 - b + b * length / average length)).
        idf: [terms] ln(1 + (N - df + 0.5) / (df + 0.5)).
    """

    ids: list[str]
    rows: dict[str, int]
    starts: NDArray[np.int64]
    documents: Integers
    saturation: Floats
    idf: Floats

    @classmethod
    def of(cls, documents: Iterable[tuple[str, str]]) -> Postings:
        """Read (id, text) pairs once, in any order; about 12 bytes are held per distinct word of a document."""
        ids: list[str] = []
        rows: dict[str, int] = {}
        row_of, document_of, count_of, lengths = array("i"), array("i"), array("i"), array("i")
        for number, (document, text) in enumerate(documents):
            counts = Counter(terms(text))
            row_of.extend([rows.setdefault(term, len(rows)) for term in counts])
            document_of.extend([number] * len(counts))
            count_of.extend(counts.values())
            lengths.append(counts.total())
            ids.append(document)
        # In order of their ids, so that a stable sort by score resolves ties as Lucene's collector does.
        order = sorted(range(len(ids)), key=ids.__getitem__)
        place = np.empty(len(ids), np.int32)
        place[order] = np.arange(len(ids), dtype=np.int32)
        row, number_ = np.frombuffer(row_of, np.int32), place[np.frombuffer(document_of, np.int32)]
        by_row = np.lexsort((number_, row))
        starts = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(np.bincount(row, minlength=len(rows)), out=starts[1:])
        inverse, filled = _inverse_norms(np.frombuffer(lengths, np.int32)[order])
        numbers = number_[by_row]
        counts_ = np.frombuffer(count_of, np.int32)[by_row].astype(np.float32)
        saturation = np.float32(1) + counts_ * inverse[numbers]
        frequencies = np.diff(starts).tolist()
        idf = [math.log(1 + (filled - df + 0.5) / (df + 0.5)) for df in frequencies]
        return cls([ids[at] for at in order], rows, starts, numbers, saturation, np.array(idf, np.float32))

    def save(self, folder: Path) -> None:
        """Write to a folder, whole or not at all: it is made beside its place and then moved there. Raises OSError."""
        made = folder.with_name(f"{folder.name}.{os.getpid()}")
        made.mkdir(parents=True, exist_ok=True)
        try:
            for name in _ARRAYS:
                np.save(made / f"{name}.npy", getattr(self, name))
            words = {"format": _FORMAT, "ids": self.ids, "terms": list(self.rows)}
            (made / "words.json").write_text(json.dumps(words), encoding="utf-8")
            if folder.exists():
                shutil.rmtree(folder)
            made.rename(folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)

    @classmethod
    def open(cls, folder: Path) -> Postings:
        """Map the arrays of a saved index; pages are read as queries need them. Raises DataError for what is none."""
        try:
            words = json.loads((folder / "words.json").read_bytes())
            if words["format"] != _FORMAT:
                raise ValueError(f"format {words['format']}")
            rows = {term: row for row, term in enumerate(words["terms"])}
            arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in _ARRAYS}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(f"{folder}: not a search index of this version ({error}); delete the folder") from error
        return cls(words["ids"], rows, **arrays)


def _inverse_norms(lengths: Integers) -> tuple[Floats, int]:
    """Return 1 / (k1 * (1 - b + b * length / average)) per document, and how many documents have a term at all."""
    filled = int(np.count_nonzero(lengths))
    average = np.float32(int(lengths.sum(dtype=np.int64)) / filled) if filled else np.float32(1)
    kept = {length: lossy_length(length) for length in np.unique(lengths).tolist()}
    rounded = np.array([kept[length] for length in lengths.tolist()], np.float32)
    k1, b, one = np.float32(K1), np.float32(B), np.float32(1)
    return one / (k1 * ((one - b) + b * rounded / average)), filled


def lossy_length(length: int) -> int:
    """Round a document length down as Lucene stores it in a byte: exact below 40, then 4 significant bits."""
    if length < _EXACT + 16:
        return length
    rest = length - _EXACT
    shift = rest.bit_length() - 4
    return _EXACT + (rest >> shift << shift)


# Lucene's SmallFloat keeps the 24 lowest values free of rounding and begins its 4-bit floats above them.
_EXACT = 24
