"""A small study on the fake engine, with stragglers that are dropped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from aes import ChatTask, Config
from aes.engine.fake import FakeEngine
from aes.study import Grid, Study
from aes.types import Member

COMMON = Config(pairs=3, goals=2, updates=6, eval_every=3, eval_goals=8, sigma=1.0, lr=1.0)
GRID = Grid(natural=(1,), lags=(1, 2), fracs=(0.3, 1.0), stress=False, on_stale=("wait", "drop"), seeds=2)


def latency(member: Member, length: int) -> float:
    """A few members are ten times as slow as the others."""
    return 1.0 + 10.0 * (member.seed % 5 == 0)


@pytest.fixture(scope="session")
def studied(shelf: ChatTask, virtual: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study's folder; nobody may change it."""
    folder = tmp_path_factory.mktemp("report") / "<b>study & more"
    assert virtual(Study(shelf, FakeEngine(slots=9, latency=latency), COMMON, GRID, folder).run())
    return folder
