from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from aes.errors import DataError
from envs.webshop.catalog.loader import read_folder


def test_the_small_files_are_found(write_folder: Callable[..., Path]) -> None:
    files = read_folder(write_folder())
    assert len(list(files.products)) == 3
    assert files.names[0].endswith("items_shuffle_1000.json")


def test_the_full_files_win(write_folder: Callable[..., Path]) -> None:
    folder = write_folder()
    (folder / "items_shuffle.json").write_text("[]")
    assert list(read_folder(folder).products) == []


def test_human_instructions_may_be_missing(write_folder: Callable[..., Path]) -> None:
    folder = write_folder()
    (folder / "items_human_ins.json").unlink()
    assert read_folder(folder).human == {}


def test_a_missing_folder_names_what_it_should_hold(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no folder .*items_shuffle\.json or items_shuffle_1000\.json"):
        read_folder(tmp_path / "nowhere")


def test_a_missing_file_names_what_is_looked_for(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"neither items_shuffle\.json nor items_shuffle_1000\.json"):
        read_folder(tmp_path)


def test_broken_json_is_placed(write_folder: Callable[..., Path]) -> None:
    with pytest.raises(DataError, match=r"items_ins_v2_1000\.json, line 2, column 1: not JSON"):
        read_folder(write_folder(attributes="{\n!"))


def test_json_of_the_wrong_kind_is_refused(write_folder: Callable[..., Path]) -> None:
    with pytest.raises(DataError, match=r"_1000\.json: must hold an array of products, but holds an object"):
        list(read_folder(write_folder(items={})).products)
