"""The original's JSON files: which ones a folder holds, and what is in them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aes.errors import DataError

# The full set wins over the small one when both are there; `Catalog.load(limit=1000)` cuts it down again.
_PRODUCTS = ("items_shuffle.json", "items_shuffle_1000.json")
_ATTRIBUTES = ("items_ins_v2.json", "items_ins_v2_1000.json")
_HUMAN = "items_human_ins.json"

_SHAPES = {"list": "an array of products", "dict": "an object keyed by asin"}


@dataclass(frozen=True, slots=True)
class RawFiles:
    """The parsed files of one folder and their names, for error messages."""

    products: list[Any]
    attributes: dict[str, Any]
    human: dict[str, Any]
    names: tuple[str, str, str]


def read_folder(folder: str | Path) -> RawFiles:
    """Read the product, attribute and human instruction files of a folder.

    Products are items_shuffle.json or else items_shuffle_1000.json, attributes items_ins_v2.json or else
    items_ins_v2_1000.json; the full file wins when both are there. items_human_ins.json may be missing.
    Raises DataError for a missing folder or file, broken JSON, or JSON of the wrong kind.
    """
    folder = Path(folder).expanduser()
    if not folder.is_dir():
        raise DataError(f"no folder {str(folder)!r}; give the folder that holds {' or '.join(_PRODUCTS)}")
    products, attributes = _first(folder, _PRODUCTS), _first(folder, _ATTRIBUTES)
    human = folder / _HUMAN
    return RawFiles(
        products=_read(products, list),
        attributes=_read(attributes, dict),
        human=_read(human, dict) if human.is_file() else {},
        names=(str(products), str(attributes), str(human)),
    )


def _first(folder: Path, names: tuple[str, ...]) -> Path:
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise DataError(f"folder {str(folder)!r} holds neither {' nor '.join(names)}; put one of them there")


def _read(path: Path, kind: type[list[Any]] | type[dict[str, Any]]) -> Any:
    try:
        content = json.loads(path.read_bytes())
    except json.JSONDecodeError as error:
        raise DataError(f"{path}, line {error.lineno}, column {error.colno}: not JSON: {error.msg}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}, byte {error.start}: not UTF-8 text; fetch the file again") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    if not isinstance(content, kind):
        raise DataError(f"{path}: must hold {_SHAPES[kind.__name__]}, but holds {type(content).__name__}")
    return content
