from __future__ import annotations

import pytest

from aes.report.content import _plain


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("/home/somebody/models/mine", "mine"),
        ("Qwen/Qwen2.5-1.5B-Instruct", "Qwen/Qwen2.5-1.5B-Instruct"),
        (["/data/shop", "cpu:0"], "shop,cpu:0"),
        (0.5, "0.5"),
    ],
)
def test_pages_do_not_tell_where_folders_are(setting: object, words: str) -> None:
    assert _plain(setting) == words
