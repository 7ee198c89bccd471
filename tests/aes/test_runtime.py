"""Whole runs on the fake engine, in virtual time: the bound, determinism, learning, and every way to end."""

from __future__ import annotations

import asyncio
import json
import math
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aes import ChatTask, Config, Episode, Policy, Run
from aes.engine.fake import FakeEngine, FakeSeat
from aes.engine.pool import Pool
from aes.errors import ConfigError, EngineError, RunFailed
from aes.events import Dispatched, Dropped, EpisodeFailed, Evaluated, Event, Finished, Measured, Started, Updated
from aes.journal import read
from aes.protocols import Engine, Task
from aes.types import Completion, Member, Sampling

T = TypeVar("T", bound=Event)

SMALL = {"pairs": 4, "goals": 3, "updates": 6, "eval_every": 2, "eval_goals": 5, "sigma": 1.0, "lr": 1.0}


def config(**changes: Any) -> Config:
    return Config.parse(SMALL | changes)


def uneven(salt: int = 0, scale: float = 1.0) -> Callable[[Member, int], float]:
    """Seconds per reply that differ tenfold and more between members, the same in every run of one salt."""

    def latency(member: Member, length: int) -> float:
        share = zlib.crc32(f"{salt} {member.name} {length}".encode()) / 2**32
        return scale * (0.05 - math.log(1 - share))

    return latency


async def played(task: Task, engine: Engine, settings: Config, folder: Path | None = None) -> list[Event]:
    async with engine, Run(task, engine, settings, folder) as run:
        return [event async for event in run]


def of(kind: type[T], events: Sequence[Event]) -> list[T]:
    return [event for event in events if isinstance(event, kind)]


def digests(events: Sequence[Event]) -> list[str]:
    return [event.digest for event in events if isinstance(event, Started | Updated)]


class Wrapped:
    """A task that plays as another does, with something before it."""

    def __init__(self, task: ChatTask, before: Callable[[Any], Any]) -> None:
        self._task = task
        self._before = before
        self.name, self.train_goals, self.eval_goals = task.name, task.train_goals, task.eval_goals
        self.fingerprint = task.fingerprint

    async def play(self, policy: Policy, goal: Any, seed: int) -> Episode:
        await self._before(goal)
        return await self._task.play(policy, goal, seed)


class Breaking(FakeEngine):
    """An engine that dies after a number of replies."""

    def __init__(self, after: int) -> None:
        super().__init__(slots=4, latency=uneven())
        self.left = after

    @asynccontextmanager
    async def seat(self, member: Member) -> AsyncIterator[FakeSeat]:
        async with super().seat(member) as seat:
            yield DyingSeat(self, seat)


class DyingSeat(FakeSeat):
    def __init__(self, engine: Breaking, seat: FakeSeat) -> None:
        self._engine = engine
        self._seat = seat

    async def generate(self, prompt: Sequence[int], sampling: Sampling) -> Completion:
        self._engine.left -= 1
        if self._engine.left < 0:
            raise EngineError("the device is gone")
        return await self._seat.generate(prompt, sampling)


# What a run does


def test_a_run_tells_its_story_in_order(shelf: ChatTask, virtual: Any, tmp_path: Path) -> None:
    events = virtual(played(shelf, FakeEngine(latency=uneven()), config(), tmp_path / "run"))
    assert isinstance(events[0], Started)
    assert isinstance(events[-1], Finished)
    assert [u.update.version for u in of(Updated, events)] == list(range(6))
    assert sorted(e.version for e in of(Evaluated, events)) == [0, 2, 4, 6]
    assert all(len(e.scores) == 5 for e in of(Evaluated, events))
    assert len(of(Dispatched, events)) == len(of(Measured, events)) == 24


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(salt=st.integers(0, 10**6), max_lag=st.integers(0, 3), slots=st.integers(1, 12), drop=st.booleans())
def test_nothing_consumed_is_older_than_the_bound(
    shelf: ChatTask, virtual: Any, salt: int, max_lag: int, slots: int, drop: bool
) -> None:
    on_stale = "drop" if drop else "wait"
    chosen = config(max_lag=max_lag, on_stale=on_stale, eval_goals=0)
    events = virtual(played(shelf, FakeEngine(slots=slots, latency=uneven(salt)), chosen))
    updates = of(Updated, events)
    assert len(updates) == 6
    versions = {e.proposal.index: e.proposal.version for e in of(Dispatched, events)}
    for update in updates:
        lags = [update.update.version - versions[index] for index in update.consumed]
        assert lags == list(update.lags)
        assert len(lags) == 4
        assert all(0 <= lag <= max_lag for lag in lags)
    consumed = [index for update in updates for index in update.consumed]
    dropped = [e.proposal.index for e in of(Dropped, events)]
    assert len(set(consumed)) == 24
    assert drop or not dropped
    assert sorted(consumed + dropped) == sorted(versions)


def test_the_journal_shows_the_bound_and_real_staleness(shelf: ChatTask, virtual: Any, tmp_path: Path) -> None:
    engine = FakeEngine(slots=6, latency=uneven(scale=2))
    virtual(played(shelf, engine, config(max_lag=2, updates=12, eval_goals=0), tmp_path))
    lags = Counter(lag for record in read(tmp_path) if record["event"] == "Updated" for lag in record["lags"])
    assert sum(lags.values()) == 48
    assert max(lags) <= 2
    assert lags[1] + lags[2] > 0


@pytest.mark.parametrize("estimator", ["pairs", "zscore", "ranks"])
@pytest.mark.parametrize(("max_lag", "stale_frac"), [(0, 0.0), (1, 0.5), (4, 1.0)])
def test_a_controlled_run_depends_on_seeds_alone(
    shelf: ChatTask, virtual: Any, estimator: str, max_lag: int, stale_frac: float
) -> None:
    chosen = {"estimator": estimator, "max_lag": max_lag, "stale_frac": stale_frac, "momentum": 0.5, "decay": 0.01}
    runs: list[tuple[Engine, Config]] = [
        (FakeEngine(), config(**chosen)),
        (FakeEngine(latency=uneven(1)), config(**chosen)),
        (FakeEngine(latency=uneven(2, scale=50)), config(**chosen, in_flight=1)),
        (FakeEngine(slots=3, latency=uneven(3)), config(**chosen, eval_goals=0)),
        (Pool([FakeEngine(slots=4, latency=uneven(4)), FakeEngine(slots=2, latency=uneven(5))]), config(**chosen)),
    ]
    results = [digests(virtual(played(shelf, engine, settings))) for engine, settings in runs]
    assert len(set(map(tuple, results))) == 1
    assert len(set(results[0])) > 3
    other = digests(virtual(played(shelf, FakeEngine(), config(**chosen, seed=1))))
    assert other[1:] != results[0][1:]


def test_controlled_lags_are_in_the_journal(shelf: ChatTask, virtual: Any, tmp_path: Path) -> None:
    engine = FakeEngine(slots=5, latency=uneven())
    virtual(played(shelf, engine, config(max_lag=4, stale_frac=1.0, updates=8), tmp_path))
    lags = [record["lags"] for record in read(tmp_path) if record["event"] == "Updated"]
    assert lags == [[min(t, 4)] * 4 for t in range(8)]


def test_no_lag_is_synchronous_whichever_schedule_says_so(shelf: ChatTask, virtual: Any) -> None:
    """With one batch of goals a version, order of arrival is all that could differ; `ranks` and sums hardly see it."""
    natural = virtual(played(shelf, FakeEngine(latency=None), config(max_lag=0)))
    controlled = virtual(played(shelf, FakeEngine(latency=None), config(max_lag=0, stale_frac=0.0)))
    assert all(set(u.lags) == {0} for u in of(Updated, natural))
    for one, other in zip(of(Updated, natural), of(Updated, controlled), strict=True):
        assert sorted(one.consumed) == sorted(other.consumed)
        ours, theirs = ({t.seed: t.coefficient for t in u.update.terms} for u in (one, other))
        assert ours == pytest.approx(theirs)


@pytest.mark.parametrize(
    "schedule",
    [{"max_lag": 0}, {"max_lag": 2}, {"max_lag": 4, "stale_frac": 1.0}, {"max_lag": 1, "on_stale": "drop"}],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_it_learns(shelf: ChatTask, virtual: Any, schedule: dict[str, Any], seed: int) -> None:
    chosen = config(**schedule, seed=seed, pairs=8, goals=8, updates=20, eval_every=0, eval_goals=40)
    events = virtual(played(shelf, FakeEngine(slots=8, latency=uneven()), chosen))
    first, last = (sum(e.scores) / 40 for e in of(Evaluated, events))
    assert first < 0.4
    assert last > 0.8


def test_without_a_step_it_learns_nothing(shelf: ChatTask, virtual: Any) -> None:
    events = virtual(played(shelf, FakeEngine(latency=uneven()), config(lr=0.0)))
    assert len(set(digests(events))) == 1
    assert len({e.scores for e in of(Evaluated, events)}) == 1


def test_equal_fitness_skips_the_update_and_goes_on(virtual: Any, shelf: ChatTask) -> None:
    class Dull:
        def reset(self, *, seed: int | None = None) -> tuple[str, dict[str, Any]]:
            return "take[red]", {}

        def step(self, text: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
            return "", 0.5, True, False, {}

    task = ChatTask("dull", lambda goal: Dull(), range(4), range(4))
    events = virtual(played(task, FakeEngine(), config(eval_goals=0)))
    assert [u.skipped for u in of(Updated, events)] == [True] * 6
    assert len(set(digests(events))) == 1


def test_an_evaluated_version_is_held_while_updates_go_on(shelf: ChatTask, virtual: Any, tmp_path: Path) -> None:
    """Evaluation is a hundred times slower than training, and still scores the version it was asked for."""

    def latency(member: Member, length: int) -> float:
        return 0.01 if member.sign else 10.0

    chosen = config(updates=12, eval_every=1, eval_concurrency=2)
    events = virtual(played(shelf, FakeEngine(latency=latency), chosen, tmp_path))
    assert [e.version for e in of(Evaluated, events)] == list(range(13))
    late = events.index(of(Updated, events)[-1])
    assert sum(isinstance(event, Evaluated) for event in events[late:]) > 10
    quick = virtual(played(shelf, FakeEngine(), chosen))
    for one, other in zip(of(Evaluated, events), of(Evaluated, quick), strict=True):
        assert one.version == other.version
    assert len(list((tmp_path / "adapters").glob("v*/theta.safetensors"))) == 13


def test_stragglers_are_waited_for_or_dropped_and_counted(shelf: ChatTask, virtual: Any) -> None:
    def latency(member: Member, length: int) -> float:
        return 1000.0 if member.seed % 5 == 0 else 1.0

    results = {}
    for on_stale in ("wait", "drop"):
        engine = FakeEngine(slots=8, latency=latency)
        chosen = config(max_lag=1, on_stale=on_stale, updates=10, eval_goals=0, episode_seconds=None)
        results[on_stale] = virtual(played(shelf, engine, chosen))
    assert not of(Dropped, results["wait"])
    dropped = of(Dropped, results["drop"])
    assert dropped
    assert all(event.reason == "late" and event.seconds > 0 for event in dropped)
    assert of(Finished, results["drop"])[0].seconds < of(Finished, results["wait"])[0].seconds
    assert sum(event.seconds for event in dropped) < of(Finished, results["drop"])[0].seconds * 8


def test_an_engine_that_forgets_at_once_never_misses_what_was_dropped(shelf: ChatTask, virtual: Any) -> None:
    """A dropped member may still be on its way to the engine: its version is held until it has stopped."""

    class Queueing(FakeEngine):
        @asynccontextmanager
        async def seat(self, member: Member) -> AsyncIterator[FakeSeat]:
            async with super().seat(member) as seat:
                try:
                    yield seat
                finally:
                    self._centre.vector(member.version)  # as an engine's queue would, until the abort is through

    def latency(member: Member, length: int) -> float:
        return 1000.0 if member.seed % 5 == 0 else 1.0

    engine = Queueing(slots=8, latency=latency)
    events = virtual(played(shelf, engine, config(max_lag=1, on_stale="drop", updates=15, eval_goals=0)))
    assert of(Dropped, events)
    assert len(of(Updated, events)) == 15


def test_two_runs_share_a_loop(shelf: ChatTask, virtual: Any, tmp_path: Path) -> None:
    async def both() -> list[list[Event]]:
        engines = [FakeEngine(latency=uneven(i)) for i in range(2)]
        runs = [played(shelf, e, config(stale_frac=0.5, seed=i), tmp_path / str(i)) for i, e in enumerate(engines)]
        return await asyncio.gather(*runs)

    together = virtual(both())
    alone = [virtual(played(shelf, FakeEngine(latency=uneven(9)), config(stale_frac=0.5, seed=i))) for i in range(2)]
    assert [digests(events) for events in together] == [digests(events) for events in alone]


# What a run leaves behind


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


# How a run fails


def test_a_bug_in_user_code_is_a_failed_episode(shelf: ChatTask, virtual: Any) -> None:
    tries: Counter[int] = Counter()

    async def fail_once(goal: int) -> None:
        tries[goal] += 1
        if goal < 60 and tries[goal] % 2 == 1:
            raise RuntimeError("flaky")

    events = virtual(played(Wrapped(shelf, fail_once), FakeEngine(slots=1), config(goals=1)))
    failures = of(EpisodeFailed, events)
    assert failures
    assert {(f.kind, f.excused) for f in failures} == {("environment", False)}
    assert all(f.reason.startswith("RuntimeError: flaky (at aes/test_runtime.py:") for f in failures)
    assert sum(m.measurement.failures for m in of(Measured, events)) == 0
    assert len(of(Updated, events)) == 6


def test_numbers_of_numpy_are_as_good_as_pythons(shelf: ChatTask, virtual: Any, tmp_path: Path) -> None:
    class Numeric(Wrapped):
        async def play(self, policy: Policy, goal: Any, seed: int) -> Episode:
            e = await self._task.play(policy, goal, seed)
            return replace(
                e,
                fitness=np.float32(e.fitness),  # type: ignore[arg-type]
                success=np.bool_(e.success),  # type: ignore[arg-type]
                turns=np.int64(e.turns),  # type: ignore[arg-type]
                tokens=np.int32(e.tokens),  # type: ignore[arg-type]
            )

    async def nothing(goal: int) -> None:
        pass

    numeric = virtual(played(Numeric(shelf, nothing), FakeEngine(), config(), tmp_path))
    assert digests(numeric) == digests(virtual(played(shelf, FakeEngine(), config())))


def test_a_goal_that_always_fails_is_excused(shelf: ChatTask, virtual: Any) -> None:
    async def fail_some(goal: int) -> None:
        if goal % 4 == 1:
            raise RuntimeError("broken goal")

    events = virtual(played(Wrapped(shelf, fail_some), FakeEngine(), config(retries=2, goals=8, min_good=0.0)))
    failures = of(EpisodeFailed, events)
    assert sum(f.excused for f in failures) * 3 == len(failures) > 0
    assert sum(m.measurement.failures for m in of(Measured, events)) == sum(f.excused for f in failures)
    assert len(of(Updated, events)) == 6


@pytest.mark.parametrize("schedule", [{}, {"max_lag": 2, "stale_frac": 0.5}])
def test_a_void_proposal_is_made_up_for(shelf: ChatTask, virtual: Any, schedule: dict[str, Any]) -> None:
    async def fail_some(goal: int) -> None:
        if goal % 7 == 1 and goal < 60:
            raise RuntimeError("broken goal")

    engine = FakeEngine(latency=uneven())
    events = virtual(played(Wrapped(shelf, fail_some), engine, config(goals=1, retries=0, **schedule)))
    assert {event.reason for event in of(Dropped, events)} == {"void"}
    assert all(len(u.consumed) == 4 for u in of(Updated, events))
    assert len(of(Updated, events)) == 6


def test_a_task_that_only_fails_ends_the_run(shelf: ChatTask, virtual: Any, tmp_path: Path) -> None:
    async def fail(goal: int) -> None:
        raise RuntimeError("wrong password")

    with pytest.raises(RunFailed, match=r"4 proposals in a row .* RuntimeError: wrong password"):
        virtual(played(Wrapped(shelf, fail), FakeEngine(), config(), tmp_path))
    assert [r["event"] for r in read(tmp_path)].count("Dropped") >= 4


@pytest.mark.parametrize("after", [0, 3, 40, 150])
@pytest.mark.parametrize("reader", ["iterate", "wait", "other iterates", "other waits"])
def test_a_dead_engine_ends_the_run_bare_and_nobody_hangs(
    shelf: ChatTask, virtual: Any, tmp_path: Path, after: int, reader: str
) -> None:
    async def drain(run: Run) -> None:
        async for _ in run:
            pass

    async def main() -> None:
        async with Breaking(after) as engine:
            others = []
            try:
                async with Run(shelf, engine, config(), tmp_path) as run:
                    reading = drain(run) if "iterate" in reader else run.wait()
                    if "other" in reader:
                        others.append(asyncio.create_task(reading))
                        await asyncio.sleep(10_000)
                    await reading
            finally:
                await asyncio.gather(*others)
                assert engine.load == (("fake", 0),)

    with pytest.raises(EngineError, match="the device is gone") as error:
        virtual(main())
    assert type(error.value) is EngineError
    records = list(read(tmp_path))
    assert records[1]["event"] == "Started"
    assert records[-1]["event"] != "Finished"


def test_a_lost_engine_is_seen_through_a_task_group_of_the_user(shelf: ChatTask, virtual: Any) -> None:
    class Parallel(Wrapped):
        async def play(self, policy: Policy, goal: Any, seed: int) -> Episode:
            async with asyncio.TaskGroup() as group:
                playing = group.create_task(self._task.play(policy, goal, seed))
            return playing.result()

    async def nothing(goal: int) -> None:
        pass

    with pytest.raises(EngineError, match="the device is gone"):
        virtual(played(Parallel(shelf, nothing), Breaking(20), config()))


def test_a_cancellation_of_the_tasks_own_making_is_a_failed_episode(shelf: ChatTask, virtual: Any) -> None:
    """Libraries cancel their own work at times; that must cost an episode, not a player."""

    async def cancel_itself(goal: int) -> None:
        if goal % 5 == 0:
            inner = asyncio.ensure_future(asyncio.sleep(1))
            asyncio.get_running_loop().call_soon(inner.cancel)
            await inner

    events = virtual(played(Wrapped(shelf, cancel_itself), FakeEngine(slots=2), config(eval_goals=10)))
    assert any("CancelledError" in f.reason for f in of(EpisodeFailed, events))
    assert len(of(Updated, events)) == 6


def test_a_crash_while_the_base_model_is_observed_leaves_bare(shelf: ChatTask, virtual: Any, tmp_path: Path) -> None:
    class Observing(Breaking):
        wants_observation = True
        observing: list[bool]

        async def observe(self, on: bool) -> None:
            self.observing = [*getattr(self, "observing", []), on]

    engine = Observing(10)
    with pytest.raises(EngineError) as error:
        virtual(played(shelf, engine, config(), tmp_path))
    assert type(error.value) is EngineError
    healthy = Observing(10**6)
    virtual(played(shelf, healthy, config(), tmp_path / "healthy"))
    assert healthy.observing == [True, False]
    with pytest.raises(ConfigError, match="give the run a folder"):
        virtual(played(shelf, Observing(10**6), config()))


# How a run is left


@pytest.mark.parametrize("after", [0.0, 0.5, 7.0, 20.0])
def test_cancelling_the_callers_task_leaves_nothing_running(
    shelf: ChatTask, virtual: Any, tmp_path: Path, after: float
) -> None:
    async def main() -> None:
        engine = FakeEngine(latency=uneven())
        task = asyncio.create_task(played(shelf, engine, config(updates=99), tmp_path))
        await asyncio.sleep(after)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()
        assert engine.load == (("fake", 0),)

    virtual(main())
    for record in read(tmp_path) if after else ():
        assert record["event"] != "Finished"


def test_leaving_early_cancels_the_run(shelf: ChatTask, virtual: Any, tmp_path: Path) -> None:
    async def main() -> int:
        async with FakeEngine(latency=uneven()) as engine:
            async with Run(shelf, engine, config(updates=99), tmp_path) as run:
                async for event in run:
                    if isinstance(event, Updated) and event.update.version == 3:
                        break
            assert engine.load == (("fake", 0),)
            assert not of(Finished, [event async for event in run])
            await run.wait()
            return int(run.summary()["version"])

    assert virtual(main()) == 4
    assert list(read(tmp_path))[-1]["event"] != "Finished"


@pytest.mark.parametrize("error", [KeyError("mine"), ExceptionGroup("mine", [KeyError("a"), KeyError("b")])])
def test_an_error_of_the_body_is_passed_on_as_it_is(shelf: ChatTask, virtual: Any, error: Exception) -> None:
    async def main() -> None:
        async with FakeEngine(latency=uneven()) as engine, Run(shelf, engine, config()) as run:
            async for _ in run:
                raise error

    with pytest.raises(type(error)) as caught:
        virtual(main())
    assert caught.value is error


def test_a_timeout_of_the_caller_is_the_callers(shelf: ChatTask, virtual: Any) -> None:
    async def main() -> float:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(played(shelf, FakeEngine(latency=uneven()), config(updates=999)), 5)
        return asyncio.get_running_loop().time()

    assert virtual(main()) == pytest.approx(5)


def test_a_slow_reader_delays_nothing(shelf: ChatTask, virtual: Any) -> None:
    async def main() -> tuple[float, list[Event]]:
        seen = []
        async with FakeEngine(latency=uneven()) as engine, Run(shelf, engine, config()) as run:
            async for event in run:
                seen.append(event)
                await asyncio.sleep(100)
        return of(Finished, seen)[0].seconds, seen

    seconds, seen = virtual(main())
    quick = virtual(played(shelf, FakeEngine(latency=uneven()), config()))
    assert seconds == pytest.approx(of(Finished, quick)[0].seconds)
    assert list(map(type, seen)) == list(map(type, quick))


def test_a_run_needs_no_reader(shelf: ChatTask, virtual: Any) -> None:
    async def main() -> dict[str, Any]:
        async with FakeEngine(latency=uneven()) as engine, Run(shelf, engine, config()) as run:
            await run.wait()
            return run.summary()

    assert virtual(main())["version"] == 6


# What is refused before anything starts


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"in_flight": 17}, ["in_flight 17", "16 slots"]),
        ({"eval_goals": 41}, ["eval_goals 41", "holds out 40"]),
    ],
)
def test_settings_that_do_not_fit_are_refused(shelf: ChatTask, changes: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(ConfigError) as error:
        Run(shelf, FakeEngine(), config(**changes))
    assert all(word in str(error.value) for word in words)


def test_a_task_without_goals_is_refused(shelf: ChatTask) -> None:
    with pytest.raises(ConfigError, match="no training goals"):
        Run(ChatTask("none", shelf.make, (), ()), FakeEngine(), config(eval_goals=0))
