"""Chaos: plays that do everything a play may do wrong, under every schedule, in virtual time.

Whatever happens, the run ends (the virtual loop raises where all wait for ever), no task is left (the `virtual` fixture
sees to it), every failure is counted once and under its kind, and what was sent out is accounted for to the last.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aes import Config, Episode, Failure, Policy, Run
from aes.engine.fake import FakeEngine, Latency
from aes.errors import ContextOverflow, GenerationFailed, RunFailed
from aes.events import Dispatched, Dropped, EpisodeFailed, Evaluated, Event, Measured, Updated
from aes.journal import read
from aes.past import Past

LIMIT = 60.0
TRAINING = 40
SMALL = {"pairs": 3, "goals": 3, "updates": 4, "eval_every": 2, "eval_goals": 6, "sigma": 1.0, "lr": 1.0}
SCHEDULES: tuple[dict[str, Any], ...] = (
    {"max_lag": 0},
    {"max_lag": 2},
    {"max_lag": 2, "stale_frac": 0.5},
    {"max_lag": 3, "stale_frac": 1.0, "estimator": "zscore"},
)

quick = settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])


class Panic(BaseException):
    """What a library's native code may raise: no Exception."""


class Chaos:
    """Does what its luck says, and counts the failures that it knows it makes, by kind.

    Args:
        salt: another salt, other luck.
        trouble: share of tries that go wrong.
        moody: whether another try of the same episode has other luck.
    """

    name, train_goals, eval_goals = "chaos", range(TRAINING), range(TRAINING, TRAINING + 20)
    fingerprint: dict[str, str] = {}  # noqa: RUF012

    def __init__(self, salt: int, trouble: float, moody: bool = True) -> None:
        self._salt = salt
        self._trouble = trouble
        self._moody = moody
        self._tries = Counter[tuple[int, int]]()
        self.trained, self.evaluated = Counter[str](), Counter[str]()

    async def play(self, policy: Policy, goal: int, seed: int) -> Any:
        self._tries[goal, seed] += self._moody
        luck = Random(f"{self._salt} {goal} {seed} {self._tries[goal, seed]}")
        counted = self.trained if goal < TRAINING else self.evaluated
        await asyncio.sleep(luck.choice((0, 0, 1, 5 * luck.random())))
        reply = await policy.complete([{"role": "user", "content": f"goal {goal}: say[yes] say[no] say[{goal % 3}]"}])
        if luck.random() >= self._trouble:
            return await luck.choice(FINE)(Episode(len(reply.text) % 5 / 5, True, 1, len(reply.token_ids)))
        kind, wrong = luck.choice(WRONG)
        if kind != "timeout":
            counted[kind] += 1
            return await wrong()
        try:
            return await wrong()
        except asyncio.CancelledError:
            counted[kind] += 1
            raise


# What goes well


async def plain(episode: Episode) -> Episode:
    return episode


async def in_tasks(episode: Episode) -> Episode:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(asyncio.sleep(number)) for number in range(3)]
    assert all(task.done() for task in tasks)
    return episode


async def after_a_cancelled_task(episode: Episode) -> Episode:
    task = asyncio.create_task(asyncio.sleep(1e6))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    return episode


async def after_an_own_time_out(episode: Episode) -> Episode:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(1):
            await asyncio.sleep(1e6)
    return episode


FINE: tuple[Callable[[Episode], Awaitable[Episode]], ...] = (
    plain, plain, plain, in_tasks, after_a_cancelled_task, after_an_own_time_out,
)  # fmt: skip

# What goes wrong


def raising(error: type[BaseException], *arguments: Any) -> Callable[[], Awaitable[Any]]:
    async def wrong() -> Any:
        raise error(*arguments)

    return wrong


def returning(value: Any) -> Callable[[], Awaitable[Any]]:
    async def wrong() -> Any:
        return value

    return wrong


async def in_a_group() -> Any:
    async def fail(after: float) -> None:
        await asyncio.sleep(after)
        raise ValueError("in a task")

    async with asyncio.TaskGroup() as group:
        for number in (1, 1, 2, 1e6):
            group.create_task(fail(number))


async def overflowing_in_a_group() -> Any:
    async with asyncio.TaskGroup() as group:
        group.create_task(raising(ContextOverflow, "too long")())  # type: ignore[arg-type]
        group.create_task(asyncio.sleep(1e6))


async def cancelling_itself() -> Any:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0)


async def cancelled_by_a_timer() -> Any:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().call_later(1, task.cancel)
    await asyncio.sleep(1e6)


async def waiting_for_what_is_cancelled() -> Any:
    inner = asyncio.ensure_future(asyncio.sleep(1e6))
    asyncio.get_running_loop().call_soon(inner.cancel)
    await inner


async def hanging() -> Any:
    await asyncio.Event().wait()


async def hanging_and_slow_to_leave() -> Any:
    try:
        await asyncio.Event().wait()
    finally:
        await asyncio.sleep(5)


async def hanging_in_tasks() -> Any:
    async with asyncio.TaskGroup() as group:
        for _ in range(3):
            group.create_task(hanging())


async def hanging_again_and_again() -> Any:
    try:
        await hanging()
    except asyncio.CancelledError:
        try:
            await hanging()
        except asyncio.CancelledError:
            raise AssertionError("it is closed, not cancelled again") from None
        raise


WRONG: tuple[tuple[str, Callable[[], Awaitable[Any]]], ...] = (
    ("environment", raising(KeyError, "x")),
    ("environment", raising(TimeoutError)),
    ("environment", raising(asyncio.CancelledError)),
    ("environment", raising(Panic, "native")),
    ("environment", raising(BaseExceptionGroup, "g", [ValueError("a"), asyncio.CancelledError()])),
    ("environment", in_a_group),
    ("environment", cancelling_itself),
    ("environment", cancelled_by_a_timer),
    ("environment", waiting_for_what_is_cancelled),
    ("timeout", hanging),
    ("timeout", hanging_and_slow_to_leave),
    ("timeout", hanging_in_tasks),
    ("context", raising(ContextOverflow, "too long")),
    ("context", overflowing_in_a_group),
    ("generation", raising(GenerationFailed, "lost")),
    ("fitness", returning(Episode(math.nan, True, 1, 1))),
    ("fitness", returning(Episode(-math.inf, True, 1, 1))),
    ("result", returning(None)),
    ("result", returning(0.5)),
    ("result", returning(Episode("high", True, 1, 1))),  # type: ignore[arg-type]
    ("result", returning(Episode(0.5, True, 1, 10**6000))),
    ("result", returning(Episode(0.5, True, 1, 1, failure="no stock"))),  # type: ignore[arg-type]
    ("generation", returning(Episode(0.5, True, 1, 1, failure=Failure("generation", "told")))),
)


# The runs


def config(**changes: Any) -> Config:
    return Config.parse(SMALL | {"episode_seconds": LIMIT, "retries": 1, "min_good": 0.0} | changes)


def played(virtual: Any, run: Run) -> list[Event]:
    """Its events, until it is finished or has failed because too much of it did."""

    async def main() -> list[Event]:
        events: list[Event] = []
        run._bus.subscribe(events.append)
        with contextlib.suppress(RunFailed):
            async with run._referee.engine, run:
                await run.wait()
        assert {seated for _, seated in run._referee.engine.load} == {0}
        return events

    return virtual(main())  # type: ignore[no-any-return]


def engine(slots: int, latency: Latency = lambda member, length: 0.5) -> FakeEngine:
    return FakeEngine(slots=slots, latency=latency)


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name) / "run"


def balanced(where: Path) -> Past:
    """Check that every proposal of a journal is accounted for: used, given up, or still out; each in one way only."""
    past, used, dropped, measured = Past.read(where), list[int](), list[int](), list[int]()

    def listen(event: Event) -> None:
        match event:
            case Updated():
                used.extend(event.consumed)
            case Dropped():
                dropped.append(event.proposal.index)
            case Measured():
                measured.append(event.measurement.proposal.index)

    Past.read(where, listen)
    assert Counter([*used, *dropped, *past.open]) == Counter(past.dispatched)
    assert set(used) | set(past.arrived) <= set(measured)
    assert set(past.arrived) <= set(past.open)
    if past.finished:
        assert not past.open
        assert len(used) == Config.parse(past.about["config"]).per_update * past.version
    return past


@quick
@given(
    salt=st.integers(0, 10**6),
    trouble=st.floats(0, 0.5),
    schedule=st.sampled_from(SCHEDULES),
    retries=st.integers(0, 2),
    slots=st.integers(1, 8),
)
def test_every_failure_is_counted_once_and_nothing_is_lost(
    virtual: Any, salt: int, trouble: float, schedule: dict[str, Any], retries: int, slots: int
) -> None:
    task = Chaos(salt, trouble)
    with folder() as where:
        run = Run(task, engine(slots), config(**schedule, retries=retries), where)
        events = played(virtual, run)
        past = balanced(where)
        assert past.finished == run.finished
        told = [event for event in events if isinstance(event, EpisodeFailed)]
        assert [r["kind"] for r in read(where) if r["event"] == "EpisodeFailed"] == [event.kind for event in told]
    assert run.metrics.failures == sum(event.excused for event in told)
    assert run.metrics.retried == sum(not event.excused for event in told)
    counted = Counter(event.kind for event in told)
    if run.finished:
        assert counted == task.trained
        evaluations = [event for event in events if isinstance(event, Evaluated)]
        assert all(len(e.scores) == 6 and sum(map(math.isnan, e.scores)) == e.failures for e in evaluations)
    else:  # what was still being played was told to nobody
        assert counted <= task.trained


@quick
@given(salt=st.integers(0, 10**6), trouble=st.floats(0, 0.3), slots=st.integers(1, 8))
def test_what_is_dropped_while_it_fails_is_accounted_for(virtual: Any, salt: int, trouble: float, slots: int) -> None:
    chosen = config(max_lag=1, on_stale="drop", updates=6)
    with folder() as where:
        played(virtual, Run(Chaos(salt, trouble), engine(slots), chosen, where))
        balanced(where)


@quick
@given(
    salt=st.integers(0, 10**6),
    trouble=st.floats(0, 0.3),
    schedule=st.sampled_from(SCHEDULES),
    cut=st.floats(0, 1),
    slots=st.integers(1, 8),
)
def test_a_chaotic_run_cut_anywhere_goes_on(
    virtual: Any, salt: int, trouble: float, schedule: dict[str, Any], cut: float, slots: int
) -> None:
    with folder() as where:
        played(virtual, Run(Chaos(salt, trouble), engine(slots), config(**schedule), where))
        whole = (where / "journal.jsonl").read_bytes().splitlines(keepends=True)
        kept = whole[: 1 + round(cut * (len(whole) - 2))]
        (where / "journal.jsonl").write_bytes(b"".join(kept) + b'{"event":"Disp')
        run = Run.resume(Chaos(salt + 1, trouble), engine(slots), where)
        events = played(virtual, run)
        assert balanced(where).finished == run.finished
        assert (where / "journal.jsonl").read_bytes().startswith(b"".join(kept))
        told = [r for r in read(where) if r["event"] == "EpisodeFailed"]
        assert run.metrics.failures == sum(r["excused"] for r in told)
        assert run.metrics.failures_by_kind == Counter(r["kind"] for r in told if r["excused"])
        assert len(told) >= sum(isinstance(event, EpisodeFailed) for event in events)


@quick
@given(salt=st.integers(0, 10**6), trouble=st.floats(0, 0.25), cut=st.floats(0, 1), slots=st.integers(1, 8))
def test_where_the_plan_is_fixed_chaos_changes_no_digest(
    virtual: Any, salt: int, trouble: float, cut: float, slots: int
) -> None:
    """Failures that depend on the episode alone fall out of the same measurements, whoever plays when."""
    chosen = config(max_lag=2, stale_frac=0.5, min_good=0.5, max_failures=1.0)

    def digests(run: Run, where: Path) -> list[str]:
        """All of them; fewer where too many proposals were void in a row, which depends on who plays when."""
        played(virtual, run)
        made = [record["digest"] for record in read(where) if record["event"] == "Updated"]
        assert len(made) == chosen.updates or not run.finished
        return made

    def task() -> Chaos:
        return Chaos(salt, trouble, moody=False)

    with folder() as where, folder() as other:
        whole = digests(Run(task(), engine(slots), chosen, where), where)
        uneven = engine(3, lambda member, length: member.seed % 7)
        elsewhere = digests(Run(task(), uneven, chosen, other), other)
        lines = (where / "journal.jsonl").read_bytes().splitlines(keepends=True)
        (where / "journal.jsonl").write_bytes(b"".join(lines[: 1 + round(cut * (len(lines) - 2))]))
        resumed = digests(Run.resume(task(), engine(3), where), where)
        for made in (elsewhere, resumed):
            assert all(one == two for one, two in zip(whole, made, strict=False))


def test_a_play_that_hangs_again_in_its_clean_up_is_closed(virtual: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.WRONG", (("timeout", hanging_again_and_again),))
    run = Run(Chaos(0, 0.2), engine(4), config(max_failures=1.0, eval_goals=0))
    events = played(virtual, run)
    assert run.finished
    told = [event.kind for event in events if isinstance(event, EpisodeFailed)]
    assert told
    assert set(told) == {"timeout"}
    assert sum(isinstance(event, Dispatched) for event in events) >= 12


def test_a_run_that_too_much_of_has_failed_ends_with_the_reasons_and_goes_on_when_they_are_mended(virtual: Any) -> None:
    """Two episodes of three fail, yet every proposal keeps a good one: only the share tells."""

    class Sick(Chaos):
        well = False

        async def play(self, policy: Policy, goal: int, seed: int) -> Any:
            if goal % 3 and not self.well:
                raise ConnectionError("no stock service")
            return await super().play(policy, goal, seed)

    async def main(run: Run) -> None:
        async with run._referee.engine, run:
            await run.wait()

    task, chosen = Sick(0, 0.0), config(goals=9, updates=6, eval_goals=0, retries=0)
    with folder() as where:
        with pytest.raises(
            RunFailed, match=r"^5\d of the last \d+ episodes failed, more than max_failures 0.5 of 108"
        ) as end:
            virtual(main(Run(task, engine(4), chosen, where)))
        assert "environment; most often environment: ConnectionError: no stock service (at aes/test_chaos.py:" in str(
            end.value
        )
        assert not balanced(where).finished
        task.well = True
        run = Run.resume(task, engine(4), where)
        virtual(main(run))
        assert run.finished
        assert balanced(where).version == 6
        assert run.metrics.failures_by_kind == {"environment": run.metrics.failures}
