from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.webshop.catalog.splits import split_range


@given(st.integers(0, 20_000))
def test_splits_are_disjoint_and_cover_everything(goals: int) -> None:
    parts = [split_range(split, goals) for split in ("test", "dev", "train")]
    assert [at for part in parts for at in part] == list(split_range("all", goals))


@pytest.mark.parametrize(
    ("goals", "test", "dev", "train"),
    [
        (12_087, (0, 500), (500, 1500), (1500, 12_087)),
        (600, (0, 100), (100, 200), (200, 600)),
        (3, (0, 1), (1, 2), (2, 3)),
    ],
)
def test_boundaries(goals: int, test: tuple[int, int], dev: tuple[int, int], train: tuple[int, int]) -> None:
    assert split_range("test", goals) == range(*test)
    assert split_range("dev", goals) == range(*dev)
    assert split_range("train", goals) == range(*train)
