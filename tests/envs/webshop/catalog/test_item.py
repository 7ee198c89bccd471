from __future__ import annotations

from envs.webshop.catalog.elements import RICH, TEXT
from envs.webshop.catalog.item import Item
from envs.webshop.catalog.product import Product

SHOE = Product("B1", "Shoe", " Shoe ", bullets=("soft", ""), attributes=("light",), options={"size": ("8", "9")})


def test_a_product_as_text() -> None:
    item = Item.of(SHOE)
    written = item.written(TEXT)
    assert written is item.written(TEXT)
    assert written.listing == written.opened == "B1 [SEP] Shoe [SEP] $100.0"
    assert written.head == "Back to Search [SEP] < Prev [SEP] size [SEP] 8 [SEP] 9"
    assert written.tail == "Shoe [SEP] Price: $100.0 [SEP] Rating: N.A. [SEP] Description [SEP] Features [SEP] Reviews"
    assert written.subpages["Description"] == "Back to Search [SEP] < Prev"
    # An empty bullet is an empty element in the original.
    assert written.subpages["Features"] == "Back to Search [SEP] < Prev [SEP] soft [SEP] "
    assert written.subpages["Attributes"] == "Back to Search [SEP] < Prev [SEP] light"


def test_a_product_as_rich_text() -> None:
    written = Item.of(SHOE).written(RICH)
    assert written.listing == "\n[button] B1 [button_]\n Shoe \n$100.0\n"
    assert written.opened == "\n[clicked button] B1 [clicked button_]\n Shoe \n$100.0\n"
    assert written.head.endswith("[button] < Prev [button_]\nsize\n  [button] 8 [button_]\n  [button] 9 [button_]\n")
    assert written.subpages["Features"].endswith("[button_]\n soft\n \n")


def test_a_shared_value_is_one_button_in_the_original_and_two_in_the_fixed_form() -> None:
    item = Item.of(Product("B1", "Shoe", options={"inner": ("Red  x", "blue"), "outer": ("Red  x", "Red  x")}))
    assert dict(item.choices) == {"Red  x": ("outer", "Red  x"), "blue": ("inner", "blue")}
    assert item.labels == ("inner: red x", "blue", "outer: red x")
    assert item.spoken["red x"] == ("outer", "Red  x")
    assert item.spoken["inner: red x"] == ("inner", "Red  x")


def test_an_option_called_like_a_button_or_nothing_goes_by_its_full_name() -> None:
    item = Item.of(Product("B1", "Shoe", options={"do": ("buy now", "", "a\nb")}))
    assert item.labels == ("do: buy now", "do:", "a b")
    assert item.spoken["do:"] == ("do", "")
