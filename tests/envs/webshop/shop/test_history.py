from __future__ import annotations

import pytest

from envs.webshop.catalog.catalog import Catalog
from envs.webshop.shop.history import History
from envs.webshop.shop.shop import TextShop


@pytest.mark.parametrize(
    ("observations", "actions", "expected"),
    [
        (0, 0, "o3"),
        (0, 1, "a3 [SEP] o3"),
        (1, 0, "o2 [SEP] o3"),
        (1, 1, "o2 [SEP] a3 [SEP] o3"),
        (2, 1, "o1 [SEP] o2 [SEP] a3 [SEP] o3"),
        (1, 2, "a2 [SEP] o2 [SEP] a3 [SEP] o3"),
        (9, 9, "o0 [SEP] a1 [SEP] o1 [SEP] a2 [SEP] o2 [SEP] a3 [SEP] o3"),
    ],
)
def test_what_is_repeated(observations: int, actions: int, expected: str) -> None:
    history = History(observations, actions)
    assert history.begin("old") == "old"
    history.add("gone", "gone")
    assert history.begin("o0") == "o0"
    for step in (1, 2):
        history.add(f"a{step}", f"o{step}")
    assert history.add("a3", "o3") == expected


@pytest.mark.parametrize("compat", [False, True])
def test_a_shop_repeats_pages_without_their_own_history(catalog: Catalog, compat: bool) -> None:
    plain = TextShop(catalog, compat)
    shop = TextShop(catalog, compat, previous_observations=2, previous_actions=2)
    texts = ("search[shoes]", "Nonsense", "click[b000000001]", "click[features]")
    pages = [plain.reset(goal=0)[0]] + [plain.step(text)[0] for text in texts]
    assert shop.reset(goal=0)[0] == pages[0]
    seen = [shop.step(text)[0] for text in texts]
    assert seen[0] == " [SEP] ".join((pages[0], texts[0], pages[1]))
    assert seen[3] == " [SEP] ".join((pages[2], texts[2], pages[3], texts[3], pages[4]))
