"""What figures are made into: goals met or missed, JSON and back, a comparison with committed ones, tables."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from benchmarks import run, table
from benchmarks.comparison import TOLERANCE, verdict
from benchmarks.machine import Machine
from benchmarks.measure import Better, Figure
from benchmarks.report import Report, Taken

HERE = Machine("Some CPU @ 2.0GHz", 2, (), {"python": "3.11.9"})
FAST = Figure("share", "x", (0.9, 1.0, 1.1), {"a s": 2.0}, "higher", 0.95)
COSTS = Figure("cost", "us", (90.0, 100.0, 110.0), goal=95.0)
reals = st.floats(-1e6, 1e6)


def taken(*figures: Figure) -> Taken:
    return Taken(figures, 3, False, "abc", "2026-11-30 12:00", 0.5, 12.0)


def drawn(report: Report, committed: Report | None) -> str:
    console = Console(file=io.StringIO(), width=150)
    console.print(table.terminal(report, committed))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize(
    ("values", "better", "met"),
    [
        ((1.0, 0.95, 0.1), "higher", True),
        ((0.94,), "higher", False),
        ((0.95,), "lower", True),
        ((1.0,), "lower", False),
    ],
)
def test_a_goal_is_for_the_median_and_may_be_met_exactly(values: tuple[float, ...], better: Better, met: bool) -> None:
    assert replace(FAST, values=values, better=better).met is met


def test_without_a_goal_nothing_is_met_or_missed() -> None:
    assert replace(FAST, goal=None).met is None


@pytest.mark.parametrize(
    ("values", "said"),
    [((0.82,), ""), ((0.80,), "worse"), ((1.20,), ""), ((1.22,), "better"), ((0.1, 1.0, 1.0), "")],
)
def test_a_median_outside_the_range_and_the_tolerance_is_told(values: tuple[float, ...], said: str) -> None:
    assert verdict(replace(FAST, values=values), FAST) == said
    opposite = {"worse": "better", "better": "worse", "": ""}[said]
    low = replace(FAST, better="lower")
    assert verdict(replace(low, values=values), low) == opposite


def test_nothing_is_told_of_what_cannot_be_compared() -> None:
    worse = replace(FAST, values=(0.1,))
    assert verdict(worse, None) == ""
    assert verdict(worse, replace(FAST, values=FAST.values[:2])) == ""
    assert verdict(worse, replace(FAST, unit="s")) == ""


@given(st.lists(reals, min_size=3), st.lists(reals, min_size=1), st.sampled_from(["lower", "higher"]))
def test_a_figure_is_worse_only_outside_the_committed_range(
    kept: list[float], now: list[float], better: Better
) -> None:
    before, after = (replace(FAST, values=tuple(values), better=better) for values in (kept, now))
    assert verdict(before, before) == ""
    if min(kept) <= after.median <= max(kept):
        assert verdict(after, before) == ""
    if verdict(after, before) == "worse":
        assert after.median > max(kept) if better == "lower" else after.median < min(kept)


def test_a_report_is_the_same_after_json(tmp_path: Path) -> None:
    report = Report(replace(HERE, gpus=("GPU 1",)), {"one": taken(FAST, COSTS), "two": taken(COSTS)})
    report.write(tmp_path / "new" / "report.json")
    assert Report.read(tmp_path / "new" / "report.json") == report


def test_figures_that_were_not_taken_again_stay_as_they_were() -> None:
    old = Report(HERE, {"one": taken(FAST), "two": taken(COSTS)})
    merged = Report(HERE, {"one": taken(replace(FAST, values=(2.0,)))}).over(old)
    assert merged.benchmarks["two"] == old.benchmarks["two"]
    assert [figure.values for figure in merged.benchmarks["one"].figures] == [(2.0,)]


def test_the_kind_of_a_machine_is_a_file_name() -> None:
    assert HERE.kind == "some-cpu-2-0ghz-2-cores"
    assert replace(HERE, gpus=("NVIDIA H", "NVIDIA H")).kind == "some-cpu-2-0ghz-2-cores-nvidia-h-x2"
    assert Machine.here().kind == Machine.here().kind != ""


def test_the_table_shows_goals_and_regressions() -> None:
    committed = Report(HERE, {"one": taken(FAST, COSTS)})
    now = Report(HERE, {"one": taken(replace(FAST, values=(0.5,)), COSTS)})
    shown = drawn(now, committed)
    share, cost = (next(line for line in shown.splitlines() if name in line) for name in ("share", "cost"))
    assert "0.5 x" in share
    assert ">= 0.95 missed" in share
    assert "worse" in share
    assert "1 x" in share
    assert "worse" not in cost
    assert f"{TOLERANCE:.0%}" in shown
    assert "nothing is committed for some-cpu" in drawn(now, None)


def test_the_page_has_every_figure_and_how_it_was_taken() -> None:
    page = table.markdown(Report(HERE, {"one": taken(FAST), "two": taken(COSTS)}))
    assert "| share | 1 x | 0.9 to 1.1 | >= 0.95 met | a s 2 |" in page
    assert "| cost | 100 us | 90 to 110 | <= 95 missed |  |" in page
    assert "`python benchmarks/run.py two`, full, 3 repetitions, 12 s; commit abc, 2026-11-30 12:00, load 0.5" in page


@pytest.mark.parametrize(
    "words", [["nonsense"], ["--repetitions", "0"], ["turn_cost", "--repetitions", "many"], ["--save", "lag"]]
)
def test_a_mistake_on_the_command_line_ends_in_a_line_and_code_2(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["run.py", *words])
    with pytest.raises(SystemExit) as ended:
        run.main()
    assert ended.value.code == 2
    assert words[-1] in capsys.readouterr().err
