"""Which goals are for training and which are held out, by position in the shuffled list."""

from __future__ import annotations

from typing import Literal

Split = Literal["train", "dev", "test", "all"]

SPLITS: tuple[Split, ...] = ("train", "dev", "test", "all")

# The original's boundaries, used from this many goals on: test 0..499, dev 500..1499, train the rest.
_FULL_AT = 3000
_TEST, _DEV = 500, 1000


def split_range(split: Split, goals: int) -> range:
    """Return the positions of a split among `goals` shuffled goals.

    From 3,000 goals on these are the original's: test 0..499, dev 500..1499, train 1500 and up. Below that test
    and dev take a sixth each, at least one goal. Splits never overlap; with fewer than 3 goals some are empty.
    Goals of one product that differ in options only may fall into several splits, as in the original.
    """
    test, dev = (_TEST, _DEV) if goals >= _FULL_AT else (max(1, goals // 6), max(1, goals // 6))
    bounds = {
        "test": range(min(test, goals)),
        "dev": range(min(test, goals), min(test + dev, goals)),
        "train": range(min(test + dev, goals), goals),
        "all": range(goals),
    }
    return bounds[split]
