from __future__ import annotations

from envs.webshop.catalog.item import Item
from envs.webshop.catalog.product import Product


def test_an_item_is_written_once_from_its_product() -> None:
    item = Item.of(Product("B1", "Shoe", " Shoe ", bullets=("soft", ""), options={"size": ("8", "9")}))
    assert item.listing == "B1 [SEP] Shoe [SEP] $100.0"
    assert item.head == "Back to Search [SEP] < Prev [SEP] size [SEP] 8 [SEP] 9"
    assert item.subpages["Description"] == "Back to Search [SEP] < Prev"
    # An empty bullet is an empty element in the original.
    assert item.subpages["Features"] == "Back to Search [SEP] < Prev [SEP] soft [SEP] "
    assert item.buttons[-2:] == ("8", "9")


def test_a_shared_value_is_one_button_but_can_be_named() -> None:
    item = Item.of(Product("B1", "Shoe", options={"inner": ("Red  x",), "outer": ("Red  x",)}))
    assert item.buttons.count("Red  x") == 1
    assert item.spoken["red x"] == ("outer", "Red  x")
    assert item.spoken["inner: red x"] == ("inner", "Red  x")
