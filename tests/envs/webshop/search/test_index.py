from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aes.errors import DataError
from envs.webshop.catalog.catalog import Catalog
from envs.webshop.search import index
from envs.webshop.search.index import SearchIndex
from envs.webshop.search.postings import K1, B, lossy_length

TEXT = st.lists(st.sampled_from(["red", "blue", "shoe", "lamp"]), max_size=6).map(" ".join)


def test_a_score_by_hand() -> None:
    index = SearchIndex([("a", "red shoe shoe"), ("b", "blue lamp")])
    idf = math.log(1 + 1.5 / 1.5)
    expected = 2 * idf * 2 / (2 + K1 * (1 - B + B * 3 / 2.5))
    ((found, score),) = index.ranked("shoe shoe unknown")
    assert found == "a"
    assert score == pytest.approx(expected, rel=1e-6)


def test_ties_fall_to_the_smaller_id() -> None:
    index = SearchIndex([("c", "red"), ("a", "red"), ("b", "red"), ("d", "blue")])
    assert index.search("red") == ["a", "b", "c"]
    assert index.search("red", 2) == ["a", "b"]


def test_nothing_to_find() -> None:
    assert SearchIndex([]).search("red") == []
    assert SearchIndex([("a", ""), ("b", "the")]).search("the") == []


@pytest.mark.parametrize(
    ("length", "kept"), [(0, 0), (39, 39), (40, 40), (41, 40), (42, 42), (57, 56), (107, 104), (1000, 984)]
)
def test_lossy_length(length: int, kept: int) -> None:
    assert lossy_length(length) == kept


@given(st.lists(TEXT, max_size=12), TEXT, st.integers(1, 12))
def test_a_shorter_limit_gives_a_prefix(texts: list[str], query: str, limit: int) -> None:
    index = SearchIndex((f"{number:02d}", text) for number, text in enumerate(texts))
    everything = index.ranked(query, 100)
    assert index.ranked(query, limit) == everything[:limit]
    assert everything == sorted(everything, key=lambda pair: (-pair[1], pair[0]))


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 5))
def test_a_limit_on_a_large_index_gives_a_prefix_too(seed: int, limit: int, kinds: int) -> None:
    rng = np.random.default_rng(seed)
    # Few kinds of scores make many ties; some documents score nothing.
    scores = rng.integers(0, kinds + 1, size=10_000).astype(np.float32)
    everything = np.argsort(-scores, kind="stable")[: np.count_nonzero(scores)]
    assert index._best(scores, limit).tolist() == everything[:limit].tolist()


def test_a_saved_index_is_mapped_and_finds_the_same(tmp_path: Path) -> None:
    built = SearchIndex((f"{number:03d}", f"red {'shoe ' * (number % 5)}") for number in range(200))
    built.save(tmp_path / "index")
    built.save(tmp_path / "index")  # an older one is replaced
    mapped = SearchIndex.open(tmp_path / "index")
    assert mapped.ranked("red shoe", 77) == built.ranked("red shoe", 77)
    assert mapped.vocabulary == built.vocabulary == {"red", "shoe"}
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


def test_what_is_no_index_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not a search index of this version"):
        SearchIndex.open(tmp_path)


@pytest.mark.parametrize("name", ["golden_search_products", "golden_search_human_goals"])
def test_order_is_lucenes(name: str, real_catalog: Catalog, golden: Callable[[str], Any]) -> None:
    queries = golden(name)
    if name == "golden_search_products":
        found, terms = real_catalog.index, 12_074
    else:
        found, terms = SearchIndex((f"G{n:05d}", text.lower()) for n, text in enumerate(golden("human_goals"))), 6_863
    assert len(found.vocabulary) == terms
    wrong = [q["query"] for q in queries if found.search(q["query"]) != [document for document, _ in q["results"]]]
    # One query of the full set of vectors hangs on a float32 tie of 1e-6.
    assert len(wrong) <= 1
