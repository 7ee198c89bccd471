from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from aes.errors import DataError, UsageError
from envs.webshop.catalog.catalog import Catalog


def test_a_folder_gives_the_same_catalogue_as_its_records(catalog: Catalog, write_folder: Callable[..., Path]) -> None:
    loaded = Catalog.load(write_folder(), seed=7)
    assert loaded.fingerprint == catalog.fingerprint
    assert loaded.goals("synthetic", "all") == catalog.goals("synthetic", "all")
    assert loaded.goals("human", "all") == catalog.goals("human", "all")


def test_the_fingerprint_tells_contents_and_seeds_apart(write_folder: Callable[..., Path]) -> None:
    folder = write_folder()
    catalogs = [Catalog.load(folder, seed=0), Catalog.load(folder, seed=1), Catalog.load(folder, seed=0, limit=2)]
    assert len({catalog.fingerprint for catalog in catalogs}) == 3


def test_the_global_generator_is_left_alone(write_folder: Callable[..., Path]) -> None:
    state = random.getstate()
    Catalog.load(write_folder()).goals("synthetic", "all")
    assert random.getstate() == state


def test_search_finds_titles_options_and_the_first_bullet_only(catalog: Catalog) -> None:
    assert catalog.search("red shoe") == ["B000000001", "B000000002"]
    assert catalog.search("watt") == ["B000000003"]
    assert catalog.search("rubber") == ["B000000001"]
    assert catalog.search("mesh") == catalog.search("warm") == catalog.search("") == []
    assert len(catalog.search("shoes", limit=1)) == 1


def test_a_caller_cannot_spoil_the_cache(catalog: Catalog) -> None:
    catalog.search("shoes").clear()
    assert len(catalog.search("shoes")) == 2


def test_listings_are_in_catalogue_order(catalog: Catalog) -> None:
    assert catalog.listing("category", "fashion") == ("B000000001", "B000000002")
    assert catalog.listing("query", "running shoes") == ("B000000001",)
    assert catalog.listing("attribute", "rubber sole") == ("B000000001",)
    assert catalog.listing("attribute", "unknown") == ()


def test_splits_share_no_goal(catalog: Catalog) -> None:
    parts = [catalog.goals("synthetic", split) for split in ("test", "dev", "train")]
    assert sum(parts, ()) == catalog.goals("synthetic", "all")


def test_wrong_words_are_refused(catalog: Catalog) -> None:
    with pytest.raises(UsageError, match="no split 'eval'; take one of train, dev, test, all"):
        catalog.goals("synthetic", "eval")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no goal kind 'crowd'"):
        catalog.goals("crowd")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="the train split of only 1 human goals is empty"):
        catalog.goals("human", "train")


def test_an_empty_catalogue_is_refused(write_folder: Callable[..., Path]) -> None:
    with pytest.raises(DataError, match="the catalogue is empty"):
        Catalog.load(write_folder(items=[]))
