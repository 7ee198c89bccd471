"""Running totals and intervals."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aes.errors import UsageError
from aes.events import Dropped, EpisodeFailed, Evaluated, Measured, Updated
from aes.metrics import Metrics, gain, interval, wilson
from aes.types import Measurement, Proposal, Update

PROPOSAL = Proposal(0, 1, 0, 1.0, (1, -1), (0, 1))


def updated(version: int, lags: tuple[int, ...], moved: dict[int, float], skipped: bool = False) -> Updated:
    return Updated(Update(version, ()), (0,), lags, 0.25, 0.5, "d", moved, skipped, 2.0, 0.1)


def test_events_add_up(tmp_path: Path) -> None:
    metrics = Metrics(tmp_path / "metrics.jsonl")
    for _ in range(2):
        metrics(Measured(Measurement(PROPOSAL, (0.5, 0.25), 4, 1, 100, 12, 2, 3.0)))
    metrics(Dropped(PROPOSAL, "late", 7.5))
    metrics(EpisodeFailed(0, 1, "environment", "ValueError: x", False))
    metrics(EpisodeFailed(0, 1, "timeout", "too long", True))
    metrics(updated(0, (0, 0, 1), {0: 0.0, 1: 0.4}))
    metrics(updated(1, (0, 2, 1), {0: 0.0, 2: math.nan}, skipped=True))
    metrics(Evaluated(2, (1.0, 0.5, math.nan), 1, 1, 1.0, {"eval_split": "dev"}))
    assert (metrics.episodes, metrics.failures, metrics.tokens, metrics.turns, metrics.successes) == (8, 1, 200, 24, 4)
    assert (metrics.version, metrics.skipped, metrics.dropped, metrics.wasted_seconds) == (2, 1, 1, 7.5)
    assert metrics.lags == {0: 3, 1: 2, 2: 1}
    assert metrics.retried == 1
    assert list(metrics.last_failures) == ["environment: ValueError: x", "timeout: too long"]
    assert list(metrics.evaluations) == [2]
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    *rows, evaluation = rows
    assert evaluation == {"version": 2, "dev/score": 0.75, "dev/success": 0.5, "dev/goals": 3, "dev/failures": 1}
    assert [(row["version"], row["lag_max"], row["skipped"]) for row in rows] == [(1, 1, False), (2, 2, True)]
    assert {name: rows[0][name] for name in rows[0] if "failures" in name} == {
        "train/failures": 1,
        "train/failures/timeout": 1,
    }
    assert rows[0]["stale_share"] == pytest.approx(1 / 3)
    assert [row["moved_over_sigma"] for row in rows] == [0.4, 0.0]


def test_the_summary_counts_failures_by_kind_and_keeps_the_last_reasons() -> None:
    metrics = Metrics()
    for number in range(7):
        metrics(EpisodeFailed(0, number, "timeout" if number else "context", f"reason {number}", True))
    metrics(EpisodeFailed(0, 0, "environment", "once", False))
    summary = metrics.summary()
    assert (summary["failures"], summary["retried"]) == (7, 1)
    assert summary["failures_by_kind"] == {"context": 1, "timeout": 6}
    assert summary["last_failures"] == [*(f"timeout: reason {n}" for n in range(3, 7)), "environment: once"]


def test_an_interval_by_hand() -> None:
    mean, half = interval([0.0, 1.0, math.nan, 1.0, 0.0])
    assert mean == 0.5
    assert half == pytest.approx(1.96 * math.sqrt((4 * 0.25 / 3) / 4))
    assert interval([0.7]) == (0.7, 0.0)
    assert all(map(math.isnan, interval([math.nan])))


def test_a_gain_is_taken_goal_by_goal() -> None:
    base = Evaluated(0, (0.0, 0.5, 0.5), 0, 0, 1.0, {"catalog": "a"})
    assert gain(Evaluated(3, (0.5, 1.0), 1, 0, 1.0, {"catalog": "a"}), base) == (0.5, 0.0)


def test_unlike_tasks_do_not_compare() -> None:
    one, other = (Evaluated(0, (0.0,), 0, 0, 1.0, {"catalog": c, "prompt": "1"}) for c in "ab")
    with pytest.raises(UsageError, match=r"don't compare: catalog 'a' and 'b'; evaluate both on the same task"):
        gain(other, one)


def test_wilson_by_hand() -> None:
    assert wilson(5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert wilson(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert all(map(math.isnan, wilson(0, 0)))


@given(trials=st.integers(1, 1000), data=st.data())
def test_wilson_holds_the_rate_and_stays_a_rate(trials: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, trials))
    low, high = wilson(successes, trials)
    assert 0 <= low <= successes / trials + 1e-12
    assert successes / trials - 1e-12 <= high <= 1
