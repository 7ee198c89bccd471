"""How whole runs end that fail: what is data, what ends the run, and as which error."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aes import ChatTask, Episode, Policy, Run
from aes.engine.fake import FakeEngine, FakeSeat
from aes.errors import ConfigError, EngineError, RunFailed
from aes.events import Dropped, EpisodeFailed, Measured, Updated
from aes.journal import read
from aes.types import Completion, Member, Sampling
from tests.aes.runs import Wrapped, config, digests, of, played, uneven


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
    assert all(f.reason.startswith("RuntimeError: flaky (at aes/test_runtime_failures.py:") for f in failures)
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
