"""A hand-made catalogue of three products, and the real data where a machine has it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envs.webshop.catalog.catalog import Catalog

_ROOT = Path(__file__).parents[3]

ITEMS: list[dict[str, Any]] = [
    {
        "asin": "B000000001",
        "name": "Acme Red Running Shoes",
        "full_description": "Light shoes.",
        "small_description": ["Rubber sole", "Mesh upper"],
        "pricing": "$20.00 - $30.00",
        "category": "fashion",
        "query": " Running Shoes ",
        "product_category": "Clothing \u203a Shoes \u203a Running",
        "customization_options": {
            "Size": [{"value": "8"}, {"value": "9 [wide]"}],
            "Color": [{"value": " Red/Blue "}, {"value": 'the "dark" one'}],
            "Style": None,
        },
        "images": ["http://example.org/1.jpg"],
    },
    {
        "asin": "B000000002",
        "name": "Acme Blue Shoes",
        "full_description": "",
        "small_description": "",
        "pricing": "",
        "category": "fashion",
        "query": "shoes",
        "product_category": "Clothing \u203a Shoes \u203a Casual",
        "customization_options": "",
        "images": [],
    },
    {
        "asin": "B000000003",
        "name": "Garden Lamp",
        "full_description": "A lamp.",
        "small_description": ["", "Warm light"],
        "pricing": "$1,299.00",
        "category": "garden",
        "query": "lamps",
        "product_category": "Garden \u203a Lamps",
        "customization_options": {"Watt": [{"value": "5"}, {"value": "10"}]},
    },
]

ATTRIBUTES: dict[str, Any] = {
    "B000000001": {
        "attributes": ["rubber sole", "light weight"],
        "instruction": "Find me rubber sole running shoes",
        "instruction_attributes": ["rubber sole"],
    },
    "B000000003": {"attributes": [], "instruction": "Find me lamps", "instruction_attributes": ["warm light"]},
}

HUMAN: dict[str, Any] = {
    "B000000002": [
        {"instruction": "i want blue shoes.", "instruction_attributes": ["blue"], "instruction_options": ["8"]},
        {"instruction": "nothing to check", "instruction_attributes": [], "instruction_options": []},
    ]
}


@pytest.fixture
def items() -> list[dict[str, Any]]:
    """The raw records of the three products."""
    return [dict(item) for item in ITEMS]


@pytest.fixture
def catalog() -> Catalog:
    """Three products with nine goals."""
    return Catalog.from_records(ITEMS, ATTRIBUTES, HUMAN, seed=7)


@pytest.fixture
def write_folder(tmp_path: Path) -> Callable[..., Path]:
    """Write the three files of the small set, any of them replaced, and return their folder."""

    def write(items: Any = ITEMS, attributes: Any = ATTRIBUTES, human: Any = HUMAN) -> Path:
        names = ("items_shuffle_1000.json", "items_ins_v2_1000.json", "items_human_ins.json")
        for name, content in zip(names, (items, attributes, human), strict=True):
            text = content if isinstance(content, str) else json.dumps(content)
            (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path

    return write


@pytest.fixture(scope="session")
def real_folder() -> Path:
    """The folder with the original's data and golden vectors."""
    folder = Path(os.environ.get("AES_WEBSHOP_DATA", _ROOT.parent / "shared" / "webshop"))
    if not (folder / "items_shuffle_1000.json").is_file():
        pytest.skip(f"no WebShop data in {folder}; set AES_WEBSHOP_DATA to their folder")
    return folder


@pytest.fixture(scope="session")
def real_catalog(real_folder: Path) -> Catalog:
    """The original's 1,000 products with the draws of the golden vectors."""
    return Catalog.load(real_folder, seed=12345, limit=1000)


@pytest.fixture(scope="session")
def golden(real_folder: Path) -> Callable[[str], Any]:
    """Read golden vectors by name; skip where the folder holds data only."""

    def read(name: str) -> Any:
        path = real_folder / f"{name}.json"
        if not path.is_file():
            pytest.skip(f"no {path.name} in {real_folder}")
        return json.loads(path.read_text(encoding="utf-8"))

    return read
