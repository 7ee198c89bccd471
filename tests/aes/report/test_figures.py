"""The figures of a report, each worked out again from the journals' lines."""

from __future__ import annotations

import json
import math
import shutil
from collections import Counter
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest

from aes import ChatTask, Run
from aes.engine.fake import FakeEngine
from aes.errors import DataError
from aes.events import Evaluated
from aes.report.figures import ArmFigures, figures
from aes.report.read import RunRecord, arm_of, read
from aes.study import Arm, Grid
from tests.aes.report.conftest import COMMON, GRID


@pytest.fixture(scope="module")
def arms(studied: Path) -> dict[str, ArmFigures]:
    return {found.arm.name: found for found in figures(read(studied))}


def records(studied: Path, arm: str, kind: str) -> list[list[dict[str, Any]]]:
    """Of every seed's journal, the records of one kind."""
    runs = [(studied / "arms" / arm / f"s{seed}" / "journal.jsonl").read_text().splitlines() for seed in range(2)]
    return [[record for line in run if (record := json.loads(line))["event"] == kind] for run in runs]


def last_scores(studied: Path, arm: str) -> list[list[float]]:
    return [next(e for e in run if e["version"] == 6)["scores"] for run in records(studied, arm, "Evaluated")]


def test_every_arm_has_its_row(arms: dict[str, ArmFigures]) -> None:
    assert [found.arm for found in arms.values()] == list(GRID.arms(COMMON))
    assert all(found.seeds == (0, 1) for found in arms.values())
    assert all(list(found.curve) == [0, 3, 6] for found in arms.values())


def test_scores_and_differences(studied: Path, arms: dict[str, ArmFigures]) -> None:
    base = last_scores(studied, "sync")
    for name, found in arms.items():
        scores = last_scores(studied, name)
        assert found.final.mean == pytest.approx(fmean(score for run in scores for score in run))
        assert found.final.low <= found.final.mean <= found.final.high
        if name == "sync":
            assert found.difference is None
        else:
            assert found.difference is not None
            assert found.difference.mean == pytest.approx(float(np.mean(np.array(scores) - np.array(base))))
    assert len({found.final.mean for found in arms.values()}) > 1


def test_the_best_version_and_success(studied: Path, arms: dict[str, ArmFigures]) -> None:
    for name, found in arms.items():
        runs = records(studied, name, "Evaluated")
        means = {v: fmean(s for run in runs for e in run if e["version"] == v for s in e["scores"]) for v in (0, 3, 6)}
        assert found.best.mean == pytest.approx(max(means.values()))
        assert means[found.best_version] == max(means.values())
        succeeded = sum(e["successes"] for run in runs for e in run if e["version"] == 6)
        assert found.success.mean == pytest.approx(succeeded / 16)


def test_lags_and_cost(studied: Path, arms: dict[str, ArmFigures]) -> None:
    for name, found in arms.items():
        updates = records(studied, name, "Updated")
        lags = Counter(lag for run in updates for update in run for lag in update["lags"])
        assert found.lags == lags
        assert found.lags.total() == 2 * 6 * 3
        assert found.stale == pytest.approx(sum(n for lag, n in lags.items() if lag) / 36)
        moved = [
            distance
            for run in updates
            for update in run
            for lag in update["lags"]
            if lag and (distance := update["moved"][str(lag)]) is not None
        ]
        assert found.moved == pytest.approx(fmean(moved)) if moved else math.isnan(found.moved)
        waited = sum(u["idle"] * u["seconds"] for run in updates for u in run)
        assert found.idle == pytest.approx(waited / sum(u["seconds"] for run in updates for u in run))
        ends = [run[0]["seconds"] for run in records(studied, name, "Finished")]
        assert found.seconds == pytest.approx(fmean(ends), abs=0.01)
        assert found.episodes == fmean(sum(m["measurement"]["episodes"] for m in r) for r in measured(studied, name))


def test_what_was_thrown_away(studied: Path, arms: dict[str, ArmFigures]) -> None:
    for name, found in arms.items():
        dropped = sum(record["seconds"] for run in records(studied, name, "Dropped") for record in run)
        kept = 0.0
        for updates, run in zip(records(studied, name, "Updated"), measured(studied, name), strict=True):
            consumed = {index for update in updates for index in update["consumed"]}
            both = [m["measurement"] for m in run]
            kept += sum(m["seconds"] for m in both if m["proposal"]["index"] in consumed)
        assert found.discarded_seconds == pytest.approx(dropped / 2)
        assert found.discarded == pytest.approx(dropped / (dropped + kept))
    assert arms["natural-1-drop"].discarded > 0
    assert arms["natural-1"].discarded == 0


def measured(studied: Path, name: str) -> list[list[dict[str, Any]]]:
    return records(studied, name, "Measured")


def test_runs_that_are_not_finished_are_left_out_and_named(studied: Path, tmp_path: Path) -> None:
    folder = tmp_path / "half"
    shutil.copytree(studied, folder)
    shutil.rmtree(folder / "arms" / "sync" / "s1")
    journal = folder / "arms" / "natural-1" / "s0" / "journal.jsonl"
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:30]))
    material = read(folder)
    assert material.unfinished == ["natural-1/s0", "sync/s1"]
    rows = {found.arm.name: found for found in figures(material)}
    assert (rows["sync"].seeds, rows["natural-1"].seeds, rows["lag-1-frac-1"].seeds) == ((0,), (1,), (0, 1))
    difference = rows["natural-1"].difference
    assert difference is not None
    assert math.isnan(difference.mean)
    for arm in (folder / "arms").iterdir():
        shutil.rmtree(arm)
    with pytest.raises(DataError, match="none of its runs is finished yet"):
        read(folder)


def test_a_run_of_another_study_is_found_out(studied: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    shutil.copytree(studied, folder)
    shutil.rmtree(folder / "arms" / "sync" / "s1")
    shutil.copytree(folder / "arms" / "sync" / "s0", folder / "arms" / "sync" / "s1")
    with pytest.raises(DataError, match="its settings are not those of the study"):
        read(folder)


def test_success_that_an_older_journal_does_not_tell_is_not_known() -> None:
    record = RunRecord()
    scores, task = (0.0, 1.0, math.nan), {"name": "shelf"}
    record(Evaluated(0, scores, successes=1, failures=1, seconds=1.0, task=task))
    record(Evaluated(3, scores, successes=1, failures=1, seconds=1.0, task=task, solved=(1,)))
    assert np.isnan(record.solved[0]).all()
    assert record.solved[3].tolist()[:2] == [0.0, 1.0]
    assert math.isnan(record.solved[3][2])


def test_a_lone_run_is_an_arm_by_itself(shelf: ChatTask, virtual: Any, tmp_path: Path) -> None:
    async def stopped(updates: int) -> None:
        async with Run(shelf, FakeEngine(slots=4), COMMON, tmp_path / str(updates)) as run:
            async for _ in run:
                if run.metrics.version == updates and 0 in run.metrics.evaluations:
                    return

    virtual(stopped(4))
    material = read(tmp_path / "4")
    assert material.unfinished == [f"{tmp_path / '4'} (at version 4 of 6)"]
    (found,) = figures(material)
    assert found.arm == Arm("natural", lag=1)
    assert found.difference is None
    assert not material.study


LONGER = COMMON.model_copy(update={"updates": 20})
ALL = GRID.merged(Grid(lags=(), estimators=("pairs", "zscore", "ranks"))).arms(LONGER)


@pytest.mark.parametrize("arm", ALL, ids=lambda arm: arm.name)
def test_an_arm_is_known_by_its_settings(arm: Arm) -> None:
    again = arm_of(arm.config(LONGER, 0))
    assert again.changes == arm.changes
    assert again.kind == arm.kind or arm.kind == "all-stale"


def test_what_is_neither_a_run_nor_a_study(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="neither a run nor a study"):
        read(tmp_path)
