"""What a run leaves behind in its folder, and which folders it takes."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from aes import ChatTask, Run
from aes.engine.fake import FakeEngine
from aes.errors import ConfigError
from aes.events import Finished
from aes.journal import read
from tests.aes.runs import Wrapped, config, played, uneven


def test_the_folder_tells_the_run(shelf: ChatTask, virtual: Any, tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "run"
    events = virtual(played(shelf, FakeEngine(latency=uneven()), config(), folder))
    records = list(read(folder))
    assert records[0]["event"] == "Journal"
    assert records[0]["config"] == json.loads((folder / "run.json").read_text())["config"]
    assert [r["event"] for r in records[1:]] == [type(e).__name__ for e in events]
    assert all(one["at"] <= other["at"] for one, other in pairwise(records))
    assert json.loads((folder / "run.json").read_text())["config"]["pairs"] == 4
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert sum("train/fitness" in row for row in rows) == 6
    assert [row["version"] for row in rows if "eval/score" in row] == [0, 2, 4, 6]
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["finished"] is True
    assert summary["version"] == 6
    assert [e["version"] for e in summary["evaluations"]] == [0, 2, 4, 6]
    assert sum(summary["lags"].values()) == 24
    assert {p.name for p in (folder / "adapters").iterdir()} == {"v00000", "v00002", "v00004", "v00006"}


def test_the_summary_is_written_before_the_end_is_told(shelf: ChatTask, virtual: Any, tmp_path: Path) -> None:
    async def leave_at_once(folder: Path, iterate: bool) -> dict[str, Any]:
        async with FakeEngine() as engine, Run(shelf, engine, config(), folder) as run:
            if iterate:
                async for event in run:
                    if isinstance(event, Finished):
                        break
            else:
                await run.wait()
        return run.summary()

    for iterate in (True, False):
        summary = virtual(leave_at_once(tmp_path / str(iterate), iterate))
        written = json.loads((tmp_path / str(iterate) / "summary.json").read_text())
        assert summary == written
        assert summary["finished"]


def test_the_summary_can_be_asked_for_when_the_loop_is_gone(shelf: ChatTask, virtual: Any) -> None:
    async def main() -> Run:
        async with FakeEngine(latency=lambda *_: 1.0) as engine, Run(shelf, engine, config()) as run:
            await run.wait()
        await asyncio.sleep(1000)
        return run

    summary = virtual(main()).summary()
    assert 1 < summary["seconds"] < 500


def test_every_line_is_json_even_where_scores_are_nan(shelf: ChatTask, virtual: Any, tmp_path: Path) -> None:
    async def fail_some(goal: int) -> None:
        if goal % 3 == 0:
            raise ValueError("no \ud800 luck")

    virtual(played(Wrapped(shelf, fail_some), FakeEngine(), config(eval_goals=9), tmp_path))

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    for name in ("journal.jsonl", "metrics.jsonl"):
        for line in (tmp_path / name).read_text().splitlines():
            json.loads(line, parse_constant=refuse)
    json.loads((tmp_path / "summary.json").read_text(), parse_constant=refuse)
    evaluated = next(r for r in read(tmp_path) if r["event"] == "Evaluated")
    assert evaluated["scores"].count(None) == evaluated["failures"] == 3


def test_an_occupied_folder_is_left_alone(shelf: ChatTask, virtual: Any, tmp_path: Path) -> None:
    virtual(played(shelf, FakeEngine(), config(), tmp_path))
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    with pytest.raises(ConfigError, match="holds a run already"):
        virtual(played(shelf, FakeEngine(), config(seed=5), tmp_path))
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


def test_two_runs_cannot_take_one_folder(shelf: ChatTask, virtual: Any, tmp_path: Path) -> None:
    async def both() -> list[Any]:
        runs = [played(shelf, FakeEngine(), config(seed=i), tmp_path / "run") for i in range(2)]
        return await asyncio.gather(*runs, return_exceptions=True)

    refused, finished = sorted(virtual(both()), key=lambda result: isinstance(result, list))
    assert isinstance(refused, ConfigError)
    assert isinstance(finished, list)


def test_a_folder_that_cannot_be_made_is_the_users_to_cure(shelf: ChatTask, virtual: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "run"):
        with pytest.raises(ConfigError, match=r"run folder .*file"):
            virtual(played(shelf, FakeEngine(), config(), folder))
