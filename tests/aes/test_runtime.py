"""Whole runs on the fake engine, in virtual time: the bound, determinism, learning, and how a run is left."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aes import ChatTask, Config, Run
from aes.engine.fake import FakeEngine, FakeSeat
from aes.engine.pool import Pool
from aes.events import Dispatched, Dropped, Evaluated, Event, Finished, Measured, Resumed, Started, Updated
from aes.journal import read
from aes.protocols import Engine
from aes.types import Member
from tests.aes.runs import config, digests, of, played, uneven


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
                    self._centres[""].vector(member.version)  # as an engine's queue would, until the abort is through

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


def test_listeners_hear_every_event_and_a_resumed_run_s_past(shelf: ChatTask, virtual: Any, tmp_path: Path) -> None:
    heard: list[Event] = []

    async def main() -> list[Event]:
        async with (
            FakeEngine() as engine,
            Run(shelf, engine, config(), tmp_path / "a", listeners=[heard.append]) as run,
        ):
            return [event async for event in run]

    assert virtual(main()) == heard
    lines = (tmp_path / "a" / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "journal.jsonl").write_bytes(b"".join(lines[:40]))
    again: list[Event] = []

    async def go_on() -> None:
        async with FakeEngine() as engine, Run.resume(shelf, engine, tmp_path / "b", [again.append]) as run:
            await run.wait()

    virtual(go_on())
    assert isinstance(again[39], Resumed)
    assert again[:39] == heard[:39]
    assert isinstance(again[-1], Finished)


def test_what_a_listener_raises_ends_the_run(shelf: ChatTask, virtual: Any) -> None:
    def broken(event: Event) -> None:
        if isinstance(event, Updated):
            raise ZeroDivisionError

    async def main() -> None:
        async with FakeEngine() as engine, Run(shelf, engine, config(), listeners=[broken]) as run:
            await run.wait()

    with pytest.raises(ZeroDivisionError):
        virtual(main())
