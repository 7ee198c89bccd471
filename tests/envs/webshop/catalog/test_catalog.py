from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aes.errors import DataError, UsageError
from envs.webshop.catalog.catalog import Catalog
from envs.webshop.catalog.splits import SPLITS
from envs.webshop.search.index import SearchIndex

Items = list[dict[str, Any]]


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
    parts = [goal for split in SPLITS[::-1][1:] for goal in catalog.goals("synthetic", split)]
    assert parts == list(catalog.goals("synthetic", "all"))


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


def test_what_is_left_out_is_counted(items: Items, write_folder: Callable[..., Path]) -> None:
    folder = write_folder(items=[items[0], items[0], items[1] | {"asin": "nan"}], human={"B9": []})
    assert Catalog.load(folder).skipped == {
        "asin seen before": 1,
        "asin 'nan'": 1,
        "entry of items_ins_v2_1000.json for an unknown product": 1,
        "entry of items_human_ins.json for an unknown product": 1,
    }


def test_a_limit_reads_no_further(items: Items, write_folder: Callable[..., Path]) -> None:
    folder = write_folder(items=json.dumps(items)[:-1] + ", broken")
    assert len(Catalog.load(folder, limit=3).products) == 3
    with pytest.raises(UsageError, match="limit 0"):
        Catalog.load(folder, limit=0)


def test_lone_surrogates_are_text_like_any_other(items: Items, write_folder: Callable[..., Path]) -> None:
    catalog = Catalog.load(write_folder(items=[items[0] | {"name": "Red \ud800 shoe"}]))
    assert len(catalog.fingerprint) == 64
    assert catalog.search("red \ud800") == ["B000000001"]


def test_the_index_of_a_large_catalogue_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envs.webshop.catalog.catalog.LARGE", 50)
    plain = Catalog.generate(50)
    query = plain.goals("synthetic", "all")[0].instruction
    kept = Catalog.generate(50, index_cache=tmp_path)
    assert kept.search(query) == plain.search(query)
    (folder,) = tmp_path.iterdir()
    monkeypatch.setattr("envs.webshop.search.postings.Postings.of", None)  # a second start builds nothing
    again = Catalog.generate(50, index_cache=tmp_path)
    assert again.search(query) == plain.search(query)
    (folder / "words.json").write_text("{}")
    with pytest.raises(DataError, match=r"not a search index of this version .*delete the folder"):
        Catalog.generate(50, index_cache=tmp_path).search("red")


async def test_a_search_can_be_made_ahead_off_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envs.webshop.catalog.catalog.LARGE", 50)
    catalog = Catalog.generate(50)
    await catalog.prefetch("shoes")
    monkeypatch.setattr(SearchIndex, "search", None)  # the answer comes from the cache
    assert isinstance(catalog.search("shoes"), list)
