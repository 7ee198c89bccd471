"""The original's JSON files: which ones a folder holds, and what is in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aes.errors import DataError
from envs.webshop.catalog.json_stream import elements, members

# The full set wins over the small one when both are there; `Catalog.load(limit=1000)` cuts it down again.
_PRODUCTS = ("items_shuffle.json", "items_shuffle_1000.json")
_ATTRIBUTES = ("items_ins_v2.json", "items_ins_v2_1000.json")
_HUMAN = "items_human_ins.json"

_LIST, _OBJECT = "an array of products", "an object keyed by asin"


@dataclass(frozen=True, slots=True)
class RawFiles:
    """The files of one folder and their names, for error messages; the products are read as they are asked for."""

    products: Iterator[Any]
    attributes: dict[str, Any]
    human: dict[str, Any]
    names: tuple[str, str, str]


def read_folder(folder: str | Path) -> RawFiles:
    """Read the attribute and human instruction files of a folder, and open its product file.

    Products are items_shuffle.json or else items_shuffle_1000.json, attributes items_ins_v2.json or else
    items_ins_v2_1000.json; the full file wins when both are there. items_human_ins.json may be missing.
    Raises DataError for a missing folder or file, broken JSON, or JSON of the wrong kind; for the product file as it
    is read.
    """
    folder = Path(folder).expanduser()
    if not folder.is_dir():
        raise DataError(f"no folder {str(folder)!r}; give the folder that holds {' or '.join(_PRODUCTS)}")
    products, attributes = _first(folder, _PRODUCTS), _first(folder, _ATTRIBUTES)
    human = folder / _HUMAN
    return RawFiles(
        products=elements(products, _LIST),
        attributes=dict(members(attributes, _OBJECT)),
        human=dict(members(human, _OBJECT)) if human.is_file() else {},
        names=(str(products), str(attributes), str(human)),
    )


def _first(folder: Path, names: tuple[str, ...]) -> Path:
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise DataError(f"folder {str(folder)!r} holds neither {' nor '.join(names)}; put one of them there")
