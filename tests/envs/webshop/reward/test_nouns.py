from __future__ import annotations

import pytest

from envs.webshop.reward.nouns import RULE


@pytest.mark.parametrize(
    ("name", "nouns"),
    [
        ("Red Shoes", ("red", "shoes")),
        ("Women's 4K TV, 3D, for the USA", ("women", "k", "tv", "usa")),
        ("Saireed Padded Bed", ("saireed", "bed")),
        ("Mens D.O.N. 500ml", ("d.o.n",)),
        ("V-Neck T Shirts, T-shirt, B, K-9, 4-a", ("v", "neck", "t", "shirts", "t", "shirt", "k")),
        ("", ()),
    ],
)
def test_rule(name: str, nouns: tuple[str, ...]) -> None:
    assert RULE(name) == nouns
