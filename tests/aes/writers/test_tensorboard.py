"""TensorBoard's files, read back by TensorBoard's own reader: the rows of metrics.jsonl, once each."""

from __future__ import annotations

import errno
import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from aes import ChatTask, Run
from aes.engine.fake import FakeEngine
from aes.errors import RunFailed, UsageError
from aes.events import Evaluated
from aes.writers.tensorboard import TensorBoard
from tests.aes.runs import config

pytest.importorskip("tensorboard")


def scalars(folder: Path) -> dict[str, list[tuple[int, float]]]:
    from tensorboard.backend.event_processing.event_accumulator import (  # type: ignore[import-untyped]
        EventAccumulator,
    )

    read = EventAccumulator(str(folder))
    read.Reload()
    return {name: [(point.step, point.value) for point in read.Scalars(name)] for name in read.Tags()["scalars"]}


def rows(folder: Path) -> dict[str, list[tuple[int, Any]]]:
    found: dict[str, list[tuple[int, Any]]] = {}
    for line in (folder / "metrics.jsonl").read_text().splitlines():
        row = json.loads(line)
        for name, value in row.items():
            if name != "version":
                found.setdefault(name, []).append((row["version"], pytest.approx(float(value))))
    return found


async def trained(shelf: ChatTask, folder: Path, listeners: Sequence[TensorBoard]) -> None:
    resuming = (folder / "journal.jsonl").exists()
    engine = FakeEngine()
    run = (
        Run.resume(shelf, engine, folder, listeners)
        if resuming
        else Run(shelf, engine, config(), folder, listeners=listeners)
    )
    async with engine, run:
        await run.wait()


def test_the_rows_of_a_run_are_scalars(shelf: ChatTask, virtual: Any, tmp_path: Path) -> None:
    before = threading.active_count()
    with TensorBoard(tmp_path / "board") as board:
        virtual(trained(shelf, tmp_path / "run", [board]))
    shown = scalars(tmp_path / "board")
    assert shown == rows(tmp_path / "run")
    assert {"train/fitness", "eval/score", "eval/success", "lag_mean", "idle", "skipped"} <= set(shown)
    assert threading.active_count() == before


def test_a_resumed_run_is_told_once(shelf: ChatTask, virtual: Any, tmp_path: Path) -> None:
    run = tmp_path / "run"
    with TensorBoard(run / "tensorboard") as board:
        virtual(trained(shelf, run, [board]))
    lines = (run / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (run / "journal.jsonl").write_bytes(b"".join(lines[: len(lines) // 2]))
    with TensorBoard(run / "tensorboard") as board:
        virtual(trained(shelf, run, [board]))
    assert len(list((run / "tensorboard").iterdir())) == 2
    assert scalars(run / "tensorboard") == rows(run)


def test_an_evaluation_of_which_all_failed_has_no_score(tmp_path: Path) -> None:
    with TensorBoard(tmp_path) as board:
        board(Evaluated(0, (float("nan"),), 0, 1, 1.0))
    assert set(scalars(tmp_path)) == {"eval/goals", "eval/failures"}


def test_a_folder_that_takes_nothing_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunFailed, match="cannot be written"):
        TensorBoard(tmp_path / "file" / "board")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    board = TensorBoard(tmp_path / "board")
    monkeypatch.setattr(board._writer, "add_scalar", full)
    with pytest.raises(RunFailed, match="No space left"):
        board(Evaluated(0, (0.5,), 0, 0, 1.0))
    board.close()


def test_a_missing_package_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aes.writers.tensorboard.installed", lambda: False)
    with pytest.raises(UsageError, match=r"pip install 'aes-runtime\[tensorboard\]'"):
        TensorBoard(tmp_path)
