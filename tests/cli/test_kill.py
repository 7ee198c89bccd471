"""A driver that is killed: what it left behind is resumed to the same end."""

from __future__ import annotations

import random
from pathlib import Path

from benchmarks.kills import QUICK, compare


def test_a_killed_driver_loses_nothing(tmp_path: Path) -> None:
    assert compare(tmp_path, QUICK, 2, random.Random(1)) == [True, True]
