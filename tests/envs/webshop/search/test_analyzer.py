from __future__ import annotations

import pytest

from envs.webshop.search.analyzer import terms, tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Description:Solid", ["Description:Solid"]),
        ("u.s.a. don't 3.5mm 1,000 3.5", ["u.s.a", "don't", "3.5mm", "1,000", "3.5"]),
        ("a_b x-large 5/8 r&b 1.", ["a_b", "x", "large", "5", "8", "r", "b", "1"]),
        ("shoes,socks a;b", ["shoes", "socks", "a", "b"]),
        ("caf\u00e9 e\u0301t", ["caf\u00e9", "e\u0301t"]),
        ("\u6f22\u5b57 \u304b\u306a \u30ab\u30bf", ["\u6f22", "\u5b57", "\u304b", "\u306a", "\u30ab\u30bf"]),
        ("brand\u2122\u2605\u2606", ["brand", "\u2122", "\u2605"]),
        ("\u2764\ufe0f\U0001f469\u200d\U0001f4bb", ["\u2764\ufe0f", "\U0001f469\u200d\U0001f4bb"]),
        ("--- \u2713 !", []),
    ],
)
def test_tokens(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


def test_overlong_tokens_are_cut() -> None:
    assert [len(token) for token in tokens("x" * 600)] == [255, 255, 90]


def test_terms_are_stems_without_stop_words_and_possessives() -> None:
    assert terms("The women's Running shoes for men\u2019s") == ["women", "run", "shoe", "men"]
