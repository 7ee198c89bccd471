"""The committed study of the pocket policy: its table says what its journals say."""

from __future__ import annotations

import json
import lzma
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

STUDY = Path(__file__).parent.parent / "docs" / "study" / "pocket"
ROW = re.compile(r"^\| ([^|]+) \| ([\d.]+) \([\d.]+ to [\d.]+\) \|", re.MULTILINE)
TITLES = {
    "sync": "synchronous",
    "natural-1": "natural, lag ≤ 1",
    "natural-4": "natural, lag ≤ 4",
    "lag-4-frac-1": "lag 4, 100% stale",
    "lag-8-frac-1": "lag 8, 100% stale",
}


@pytest.fixture(scope="module")
def journals() -> dict[str, list[list[dict[str, object]]]]:
    """Per arm, the events of its runs."""
    found = defaultdict(list)
    for file in sorted((STUDY / "journals").glob("*.jsonl.xz")):
        lines = lzma.decompress(file.read_bytes()).decode().splitlines()
        found[file.name.rpartition("-s")[0]].append([json.loads(line) for line in lines])
    return found


def test_every_core_arm_has_three_seeds(journals: dict[str, list[list[dict[str, object]]]]) -> None:
    assert {name: len(runs) for name, runs in journals.items()} == dict.fromkeys(TITLES, 3)


@pytest.mark.parametrize("name", TITLES)
def test_final_scores_are_those_of_the_journals(name: str, journals: dict[str, list[list[dict[str, object]]]]) -> None:
    finals = [[event for event in run if event["event"] == "Evaluated"][-1]["scores"] for run in journals[name]]
    table = dict(ROW.findall((STUDY / "report.md").read_text()))
    assert f"{np.mean(np.array(finals, dtype=float)):.3f}" == table[TITLES[name]]


@pytest.mark.parametrize(("name", "lags"), [("sync", {0}), ("lag-4-frac-1", {0, 1, 2, 3, 4})])
def test_lags_are_those_of_the_plan(
    name: str, lags: set[int], journals: dict[str, list[list[dict[str, object]]]]
) -> None:
    for run in journals[name]:
        assert {lag for event in run if event["event"] == "Updated" for lag in event["lags"]} == lags  # type: ignore[attr-defined]
