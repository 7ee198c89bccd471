from __future__ import annotations

from envs.webshop.shop.pages import clickables
from envs.webshop.shop.state import Page, ShopState


def test_the_fixed_form_has_no_dead_buttons() -> None:
    last = ShopState(Page.RESULTS, "q", ("B1",), 1)
    assert clickables(last, None, compat=True) == ("back to search", "next >", "b1")
    assert clickables(last, None, compat=False) == ("back to search", "b1")
    assert clickables(ShopState(), None, compat=True) == ("search",)
    assert clickables(ShopState(), None, compat=False) == ()
