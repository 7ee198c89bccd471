"""Going on with a run: killed at any event, it ends as if it had never been interrupted."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from aes import ChatTask, Config, Run
from aes.engine.fake import FakeEngine
from aes.errors import ConfigError, DataError, DigestMismatch
from aes.journal import read
from aes.past import Past

SMALL = {"pairs": 4, "goals": 3, "updates": 6, "eval_every": 2, "eval_goals": 5, "sigma": 1.0, "lr": 1.0}
CONTROLLED = {"max_lag": 2, "stale_frac": 0.5}


def config(**changes: Any) -> Config:
    return Config.parse(SMALL | changes)


async def play(run: Run) -> Run:
    async with run:
        await run.wait()
    return run


def digests(folder: Path) -> list[str]:
    """The digest of every version that the run itself made."""
    return [record["digest"] for record in read(folder) if record["event"] == "Updated"]


def cut(folder: Path, into: Path, lines: int, torn: bytes = b"") -> Path:
    """The folder as it was after so many lines of its journal, with a torn one at the end."""
    into.mkdir()
    content = (folder / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (into / "journal.jsonl").write_bytes(b"".join(content[:lines]) + torn)
    return into


@pytest.mark.parametrize(
    "schedule", [CONTROLLED, {"max_lag": 2, "stale_frac": 1.0}, {"max_lag": 2, "frozen": True}, {"max_lag": 0}]
)
@pytest.mark.parametrize("extra", [{}, {"estimator": "zscore"}, {"momentum": 0.5, "decay": 0.1}])
def test_a_run_killed_at_any_moment_ends_the_same(
    shelf: ChatTask, virtual: Any, tmp_path: Path, schedule: dict[str, Any], extra: dict[str, Any]
) -> None:
    whole = tmp_path / "whole"
    virtual(play(Run(shelf, FakeEngine(slots=3), config(**schedule, **extra), whole)))
    lines = (whole / "journal.jsonl").read_bytes().count(b"\n")
    for killed in range(1, lines, 7):
        folder = cut(whole, tmp_path / f"cut{killed}", killed, b'{"event":"Meas')
        run = virtual(play(Run.resume(shelf, FakeEngine(slots=3), folder)))
        assert digests(folder) == digests(whole)
        assert sorted(run.metrics.evaluations) == [0, 2, 4, 6]
        summary = json.loads((folder / "summary.json").read_text())
        assert summary["finished"]
        assert len((folder / "metrics.jsonl").read_text().splitlines()) == 6 + 4


def test_a_natural_run_loses_no_measurement(shelf: ChatTask, virtual: Any, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    virtual(play(Run(shelf, FakeEngine(slots=3), config(max_lag=2), whole)))
    records = list(read(whole))
    for killed in range(2, len(records), 11):
        folder = cut(whole, tmp_path / f"cut{killed}", killed)
        virtual(play(Run.resume(shelf, FakeEngine(slots=3), folder)))
        again = list(read(folder))
        measured = [r["measurement"]["proposal"]["index"] for r in again if r["event"] == "Measured"]
        consumed = [index for r in again if r["event"] == "Updated" for index in r["consumed"]]
        assert len(set(measured)) == len(measured)
        assert sorted(consumed) == sorted(measured)
        assert len(consumed) == 6 * 4
        assert all(0 <= lag <= 2 for r in again if r["event"] == "Updated" for lag in r["lags"])


def test_resumed_again_and_again(shelf: ChatTask, virtual: Any, tmp_path: Path) -> None:
    whole, folder = tmp_path / "whole", tmp_path / "often"
    virtual(play(Run(shelf, FakeEngine(slots=3), config(**CONTROLLED), whole)))

    async def a_while(run: Run, events: int) -> None:
        async with run:
            async for _ in run:
                events -= 1
                if not events:
                    break

    virtual(a_while(Run(shelf, FakeEngine(slots=3), config(**CONTROLLED), folder), 9))
    for _ in range(30):
        if Past.read(folder).finished:
            break
        virtual(a_while(Run.resume(shelf, FakeEngine(slots=3), folder), 9))
    assert digests(folder) == digests(whole)


def test_a_stop_waits_for_what_is_out_and_can_be_resumed(shelf: ChatTask, virtual: Any, tmp_path: Path) -> None:
    whole, folder = tmp_path / "whole", tmp_path / "stopped"
    engine = FakeEngine(slots=3, latency=lambda *_: 5.0)
    virtual(play(Run(shelf, engine, config(**CONTROLLED), whole)))

    async def stopped(grace: float) -> tuple[float, int]:
        loop = asyncio.get_running_loop()
        engine = FakeEngine(slots=3, latency=lambda *_: 5.0)
        run = Run(shelf, engine, config(**CONTROLLED), folder) if grace else Run.resume(shelf, engine, folder)
        async with run:
            await asyncio.sleep(22)
            began = loop.time()
            run.stop(grace)
            await run.wait()
            return loop.time() - began, len(Past.read(folder).open) - len(Past.read(folder).arrived)

    took, unmeasured = virtual(stopped(60.0))
    assert 0 < took <= 60
    assert unmeasured == 0
    took, _ = virtual(stopped(0.0))
    assert took == 0
    assert json.loads((folder / "summary.json").read_text())["finished"] is False
    virtual(play(Run.resume(shelf, FakeEngine(slots=3), folder)))
    assert digests(folder) == digests(whole)


def test_a_run_that_died_before_version_0_begins_again(shelf: ChatTask, virtual: Any, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    virtual(play(Run(shelf, FakeEngine(), config(**CONTROLLED), whole)))
    folder = cut(whole, tmp_path / "cut", 1)
    virtual(play(Run.resume(shelf, FakeEngine(), folder)))
    assert digests(folder) == digests(whole)


def test_a_fork_goes_on_from_any_version_with_other_settings(shelf: ChatTask, virtual: Any, tmp_path: Path) -> None:
    parent, child = tmp_path / "parent", tmp_path / "child"
    virtual(play(Run(shelf, FakeEngine(), config(**CONTROLLED), parent)))
    past = Past.read(parent)
    changed = config(**CONTROLLED, sigma=0.5, updates=8, seed=9)
    run = virtual(play(Run.fork(past, 4, shelf, FakeEngine(), changed, child)))
    records = list(read(child))
    assert [r["digest"] for r in records if r["event"] == "Inherited"] == digests(parent)[:4]
    assert len(digests(child)) == 4
    assert [lag for r in records if r["event"] == "Updated" for lag in r["lags"]].count(0) == 4 + 3 * 2
    assert sorted(run.metrics.evaluations) == [4, 6, 8]
    # The child is a run like any other: it can be cut, resumed, and forked in its turn.
    folder = cut(child, tmp_path / "cut", len(records) - 12)
    virtual(play(Run.resume(shelf, FakeEngine(), folder)))
    assert digests(folder) == digests(child)
    virtual(play(Run.fork(Past.read(child), 8, shelf, FakeEngine(), config(updates=9), tmp_path / "grandchild")))


def test_what_cannot_be_gone_on_with(shelf: ChatTask, virtual: Any, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    virtual(play(Run(shelf, FakeEngine(), config(), folder)))
    with pytest.raises(DataError, match=r"it has finished, at version 6 \(fork it"):
        Run.resume(shelf, FakeEngine(), folder)
    half = cut(folder, tmp_path / "half", 30)
    other = ChatTask("shelf", shelf.make, shelf.train_goals, shelf.eval_goals, fingerprint={"prompt": "2"})
    with pytest.raises(DataError, match="its task's prompt was None, here it is 2"):
        Run.resume(other, FakeEngine(), half)
    with pytest.raises(ConfigError, match=r"updates 6: the fork begins at version 6"):
        Run.fork(Past.read(folder), 6, shelf, FakeEngine(), config(), tmp_path / "fork")
    with pytest.raises(DataError, match=r"no version 7 \(versions 0 to 6\)"):
        Run.fork(Past.read(folder), 7, shelf, FakeEngine(), config(updates=9), tmp_path / "fork")


def test_another_engine_arithmetic_is_found_out(shelf: ChatTask, virtual: Any, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    virtual(play(Run(shelf, FakeEngine(), config(), folder)))
    half = cut(folder, tmp_path / "half", 40)

    class Other(FakeEngine):
        async def start(self, seed: int, sigma: float, basis: Path, run: str = "") -> tuple[str, int]:
            _, dim = await super().start(seed, sigma, basis, run)
            return "0" * 32, dim

    with pytest.raises(DigestMismatch, match="version 0 rebuilt from the journal has digest 000"):
        virtual(play(Run.resume(shelf, Other(), half)))
