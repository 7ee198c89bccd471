"""`aes report` from the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.cli.conftest import Aes

RUN = (
    *("--engine", "fake", "--products", 60, "--pairs", 2, "--goals", 1, "--updates", 2, "--eval-every", 1),
    *("--eval-goals", 5, "--run-dir", "run"),
)


def test_a_run_is_reported(aes: Aes, tmp_path: Path) -> None:
    assert aes("train", *RUN).code == 0
    code, out, err = aes("report", "run")
    assert (code, err) == (0, "")
    assert "run/report.html (report.md and 2 pictures beside it)" in out
    assert "natural, lag ≤ 1" in (tmp_path / "run" / "report.html").read_text()
    assert aes("report", "run", "--to", "elsewhere/mine.html").code == 0
    assert len(list((tmp_path / "elsewhere").iterdir())) == 4
    assert aes("replay", "run").code == 0  # a report in its folder is no harm to a run


def test_what_can_not_be_reported(refused: Callable[..., str], tmp_path: Path) -> None:
    assert "neither a run nor a study" in refused("report", tmp_path)
    assert "neither a run nor a study" in refused("report", "nowhere")
    assert "must end in .html" in refused("report", tmp_path, "--to", "report.txt")
