"""Engines die and hang at any moment; a run that can go on ends as if none had."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aes import ChatTask, Config, Episode, Policy, Run
from aes.engine.fake import FakeEngine
from aes.engine.pool import Pool
from aes.errors import CanaryFailed, EngineError
from aes.events import EngineDown, EngineUp, EpisodeFailed, Evaluated, Event, Finished, Measured, Started, Updated
from aes.journal import read
from aes.past import Past
from aes.protocols import Task
from tests.aes.engine.mortal import ADVANCING, OPENING, STARTING, Mortal, Observant

T = TypeVar("T", bound=Event)
Results = tuple[list[str], list[tuple[int, tuple[float, ...]]]]

SMALL = {"pairs": 3, "goals": 2, "updates": 5, "eval_every": 2, "eval_goals": 4, "sigma": 1.0, "lr": 1.0}
CONTROLLED = {"max_lag": 2, "stale_frac": 0.34, "momentum": 0.5}
NOTICED = 7.0

Blow = tuple[float, int, bool]
"""A moment, the number of an engine, and whether it hangs then (else it dies)."""


def config(**changes: Any) -> Config:
    return Config.parse(SMALL | CONTROLLED | changes)


def of(kind: type[T], events: Sequence[Event]) -> list[T]:
    return [event for event in events if isinstance(event, kind)]


def results(events: Sequence[Event]) -> Results:
    """Digests of all versions, and the scores of all that were evaluated."""
    digests = [event.digest for event in events if isinstance(event, Started | Updated)]
    return digests, sorted((e.version, e.scores) for e in of(Evaluated, events))


async def played(
    task: Task,
    engines: Sequence[FakeEngine],
    chosen: Config,
    blows: Sequence[Blow] = (),
    folder: Path | None = None,
    restarts: int = 99,
    resume: bool = False,
) -> list[Event]:
    """All events of a run in which engines are struck, counted from its beginning."""
    loop = asyncio.get_running_loop()
    async with Pool(engines, restarts) as pool:
        for moment, number, hangs in blows:
            engine = engines[number % len(engines)]
            loop.call_later(moment, *((engine.hang, NOTICED) if hangs else (engine.kill,)))
        made = Run.resume(task, pool, folder) if resume and folder else Run(task, pool, chosen, folder)
        async with made as run:
            events = [event async for event in run]
        assert [device.seated for device in pool.devices] == [seated for _, seated in pool.load] == [0] * len(engines)
    return events


def balanced(events: Sequence[Event], chosen: Config) -> None:
    """Nothing is measured twice, nothing is consumed that was not measured, and no member fails for its engine."""
    assert isinstance(events[-1], Finished)
    assert not of(EpisodeFailed, events)
    measured = [m.measurement.proposal.index for m in of(Measured, events)]
    consumed = [index for update in of(Updated, events) for index in update.consumed]
    assert len(set(measured)) == len(measured)
    assert len(set(consumed)) == len(consumed) == chosen.updates * chosen.per_update
    assert set(consumed) <= set(measured)


@pytest.fixture(scope="module")
def whole(shelf: ChatTask, virtual: Any) -> Results:
    """What a controlled run comes to that nothing happens to."""
    return results(virtual(played(shelf, [Mortal()], config())))


moments = st.floats(0, 90, allow_nan=False) | st.floats(0, 9, allow_nan=False)
blows = st.lists(st.tuples(moments, st.integers(0, 1), st.booleans()), max_size=8)
many = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


@many
@given(blows=blows, engines=st.integers(1, 2), slots=st.integers(1, 5))
def test_whenever_engines_die_or_hang_a_controlled_run_ends_the_same(
    shelf: ChatTask, virtual: Any, whole: Results, blows: list[Blow], engines: int, slots: int
) -> None:
    events = virtual(played(shelf, [Mortal(slots) for _ in range(engines)], config(), blows))
    assert results(events) == whole
    balanced(events, config())
    assert len(of(EngineUp, events)) <= len(of(EngineDown, events)) <= len(blows)


@many
@given(blows=blows, engines=st.integers(1, 2), drop=st.booleans())
def test_a_natural_run_keeps_its_bound_and_loses_nothing(
    shelf: ChatTask, virtual: Any, blows: list[Blow], engines: int, drop: bool
) -> None:
    chosen = config(stale_frac=None, on_stale="drop" if drop else "wait")
    events = virtual(played(shelf, [Mortal() for _ in range(engines)], chosen, blows))
    balanced(events, chosen)
    assert all(0 <= lag <= 2 for update in of(Updated, events) for lag in update.lags)


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(blows=st.lists(st.tuples(st.floats(0, 15), st.integers(0, 1), st.booleans()), min_size=1, max_size=5))
def test_engines_die_while_the_base_model_is_observed(
    shelf: ChatTask, virtual: Any, whole: Results, tmp_path_factory: Any, blows: list[Blow]
) -> None:
    folder = tmp_path_factory.mktemp("run")
    events = virtual(played(shelf, [Observant(), Observant()], config(), blows, folder))
    assert results(events) == whole
    assert [r["event"] for r in read(folder)].count("Started") == 1


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(blows=st.lists(st.tuples(st.floats(0, 9), st.integers(0, 1), st.booleans()), min_size=1, max_size=5))
def test_engines_die_while_a_run_is_resumed(
    shelf: ChatTask, virtual: Any, whole: Results, tmp_path_factory: Any, blows: list[Blow]
) -> None:
    folder = tmp_path_factory.mktemp("run")
    virtual(played(shelf, [Mortal()], config(), folder=folder))
    journal = folder / "journal.jsonl"
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:40]))
    virtual(played(shelf, [Mortal(), Mortal()], config(), blows, folder, resume=True))
    digests = [record["digest"] for record in read(folder) if record["event"] in ("Started", "Updated")]
    assert digests == whole[0]
    past = Past.read(folder)
    assert (past.finished, past.evaluated) == (True, {0, 2, 4, 5})


@pytest.mark.parametrize("share", [0.25, 0.75])
@pytest.mark.parametrize("engines", [1, 2])
def test_an_update_whose_answer_is_lost_with_all_engines_is_applied_once(
    shelf: ChatTask, virtual: Any, whole: Results, engines: int, share: float
) -> None:
    """Struck before they apply it or after, all together: nobody is left who knows."""

    class Struck(Mortal):
        struck = False

        async def advance(self, update: Any, *rest: Any) -> Any:
            if update.version == 2 and not self.struck:
                self.struck = True
                asyncio.get_running_loop().call_later(ADVANCING * share, self.kill)
            return await super().advance(update, *rest)

    events = virtual(played(shelf, [Struck() for _ in range(engines)], config()))
    assert len(of(EngineDown, events)) == engines
    assert results(events) == whole


def test_the_other_engine_works_on_meanwhile(shelf: ChatTask, virtual: Any) -> None:
    """With an engine that takes a thousand seconds to open again, the run is over long before."""

    class Slow(Mortal):
        async def __aenter__(self) -> Any:
            await asyncio.sleep(1000 if self.opened else 0)
            return await super().__aenter__()

    alone = virtual(played(shelf, [Mortal()], config()))
    events = virtual(played(shelf, [Mortal(), Slow()], config(), [(5.0, 1, False)]))
    assert results(events) == results(alone)
    assert (len(of(EngineDown, events)), of(EngineUp, events)) == (1, [])
    assert of(Finished, events)[0].seconds < of(Finished, alone)[0].seconds * 1.2


def test_a_member_that_paused_while_its_engine_was_lost_is_played_again(
    shelf: ChatTask, virtual: Any, whole: Results
) -> None:
    """Its play asks the engine only after that is back, for a place it no longer has."""

    class Late(Stubborn):
        async def play(self, policy: Policy, goal: Any, seed: int) -> Episode:
            await asyncio.sleep(9.0)
            return await self._task.play(policy, goal, seed)

    events = virtual(played(Late(shelf), [Mortal()], config(), [(1.5, 0, False)]))
    assert of(EngineUp, events)[0].seconds < 7
    assert results(events) == whole


def test_an_update_under_way_when_an_engine_comes_back_is_not_missed_by_it(
    shelf: ChatTask, virtual: Any, whole: Results
) -> None:
    class First(Mortal):
        """Takes so long over one update that the other engine is ready in the middle of it."""

        async def advance(self, update: Any, *rest: Any) -> Any:
            if update.version == 2:
                second.kill()
                await asyncio.sleep(3 * OPENING)
            return await super().advance(update, *rest)

    second = Mortal()
    events = virtual(played(shelf, [First(), second], config()))
    assert results(events) == whole
    back = of(EngineUp, events)
    assert (len(back), back[0].seconds > 3 * OPENING) == (1, True)


def test_an_engine_that_is_back_holds_what_is_still_needed_and_works(shelf: ChatTask, virtual: Any) -> None:
    """Evaluation of version 0 outlasts the training, and its engine dies in the middle of it."""

    def latency(member: Any, length: int) -> float:
        return 0.2 if member.sign else 30.0

    engines = [Mortal(), Mortal()]
    for engine in engines:
        engine._latency = latency
    chosen = config(eval_concurrency=2)
    quiet = virtual(played(shelf, [Mortal(), Mortal()], chosen))
    events = virtual(played(shelf, engines, chosen, [(50.0, 0, False), (80.0, 1, False), (100.0, 0, True)]))
    assert results(events) == results(quiet)
    assert len(of(EngineUp, events)) == 3
    assert {engine.opened for engine in engines} == {2, 3}


# When engines don't come back


def test_when_no_engine_can_be_opened_the_run_ends_with_one_reason(
    shelf: ChatTask, virtual: Any, tmp_path: Path
) -> None:
    engine = Mortal(unable=99)
    words = "engine fake: lost for good, and no other is left: no memory .resume the run"
    with pytest.raises(EngineError, match=words) as caught:
        virtual(played(shelf, [engine], config(), [(10.0, 0, False)], tmp_path, restarts=3))
    assert type(caught.value) is EngineError
    told = [(r["reason"], r["restarts"]) for r in read(tmp_path) if r["event"] == "EngineDown"]
    assert told == [("its process was killed", 3), ("no memory", 2), ("no memory", 1), ("no memory", 0)]
    assert virtual(played(shelf, [Mortal()], config(), folder=tmp_path, resume=True))


@pytest.mark.parametrize("moment", [0.1, 1.5, 5.0, 20.0])
def test_without_restarts_a_death_is_the_end(shelf: ChatTask, virtual: Any, moment: float) -> None:
    with pytest.raises(EngineError, match="lost for good"):
        virtual(played(shelf, [Mortal()], config(), [(moment, 0, False)], restarts=0))


@pytest.mark.parametrize("moment", [0.1, STARTING + 1])
def test_an_engine_that_dies_once_too_often(shelf: ChatTask, virtual: Any, moment: float) -> None:
    deaths = [(moment + n * (OPENING + STARTING + 0.5), 0, False) for n in range(4)]
    with pytest.raises(EngineError, match=r"no other is left: its process was killed"):
        virtual(played(shelf, [Mortal()], config(), deaths, restarts=3))
    assert len(of(EngineUp, virtual(played(shelf, [Mortal()], config(), deaths[:3], restarts=3)))) == 3


def test_the_run_goes_on_without_an_engine_that_is_gone(shelf: ChatTask, virtual: Any, whole: Results) -> None:
    engines = [Mortal(), Mortal(unable=99)]
    events = virtual(played(shelf, engines, config(), [(6.0, 1, False), (12.0, 0, False)], restarts=2))
    assert results(events) == whole
    assert [e.restarts for e in of(EngineDown, events)].count(0) == 1
    assert len(of(EngineUp, events)) == 1


def test_an_engine_that_comes_back_as_another_is_not_trusted(shelf: ChatTask, virtual: Any, whole: Results) -> None:
    class Other(Mortal):
        async def start(self, *arguments: Any) -> tuple[str, int]:
            digest, dim = await super().start(*arguments)
            return ("0" * 32 if self.opened > 1 else digest), dim

    class Mute(Mortal):
        async def start(self, *arguments: Any) -> tuple[str, int]:
            if self.opened > 1:
                raise CanaryFailed("canary: nothing is applied")
            return await super().start(*arguments)

    for kind, words in ((Other, "version 0 rebuilt from the journal has digest 000"), (Mute, "canary: nothing")):
        events = virtual(played(shelf, [Mortal(), kind()], config(), [(6.0, 1, False)], restarts=2))
        assert results(events) == whole
        assert of(EngineDown, events)[-1].restarts == 0
        assert words in of(EngineDown, events)[-1].reason
        with pytest.raises(EngineError, match=words):
            virtual(played(shelf, [kind()], config(), [(6.0, 0, False)], restarts=2))


def test_what_a_gone_engine_misses_is_not_kept(shelf: ChatTask, virtual: Any) -> None:
    async def main() -> None:
        async with Pool([Mortal(), gone := Mortal(unable=9)], restarts=1) as pool:
            async with Run(shelf, pool, config(updates=9)) as run:
                gone.kill()
                await run.wait()
            assert pool.devices[1].gone
            assert not pool.devices[1].missed

    virtual(main())


# How a play and a caller see it


class Stubborn:
    """A task whose plays catch whatever happens to them, and report a fitness all the same."""

    fingerprint: dict[str, str] = {}  # noqa: RUF012

    def __init__(self, task: ChatTask) -> None:
        self._task = task
        self.name, self.train_goals, self.eval_goals = task.name, task.train_goals, task.eval_goals

    async def play(self, policy: Policy, goal: Any, seed: int) -> Episode:
        try:
            return await self._task.play(policy, goal, seed)
        except Exception:
            return Episode(-100.0, False, 1, 1)


def test_what_a_play_makes_of_a_lost_engine_is_never_scored(shelf: ChatTask, virtual: Any, whole: Results) -> None:
    events = virtual(played(Stubborn(shelf), [Mortal()], config(), [(t, 0, False) for t in (1.5, 8.0, 20.0)]))
    assert len(of(EngineDown, events)) == 3
    assert results(events) == whole


@pytest.mark.parametrize("moment", [0.05, 1.5, 3.0, 5.5, 6.3, 8.0])
@pytest.mark.parametrize("leave", ["cancel", "break", "stop"])
def test_a_run_can_be_left_at_any_moment_of_a_revival(shelf: ChatTask, virtual: Any, moment: float, leave: str) -> None:
    async def main() -> list[Event]:
        engine = Mortal()
        async with Pool([engine]) as pool:
            asyncio.get_running_loop().call_later(2.0, engine.kill)
            seen: list[Event] = []

            async def work() -> None:
                async with Run(shelf, pool, config()) as run:
                    if leave == "stop":
                        asyncio.get_running_loop().call_later(moment, run.stop, 1.0)
                    seen.extend([event async for event in run])

            if leave == "stop":
                await work()
            elif leave == "cancel":
                task = asyncio.create_task(work())
                await asyncio.sleep(moment)
                task.cancel()
                await asyncio.wait([task])
                assert task.cancelled()
            else:
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(work(), moment)
            assert pool.load[0][1] == 0
            return seen

    assert not of(Finished, virtual(main()))


def test_an_engine_that_dies_while_its_members_are_cleaned_up_leaves_a_cancelled_run_cancelled(
    shelf: ChatTask, virtual: Any
) -> None:
    """Plays that take their time to end when cancelled, a death, and the run is cancelled just then."""

    class Tidy(Stubborn):
        async def play(self, policy: Policy, goal: Any, seed: int) -> Episode:
            try:
                return await self._task.play(policy, goal, seed)
            finally:
                await asyncio.sleep(2.0)

    async def main() -> float:
        engine = Mortal()
        async with Pool([engine]) as pool:

            async def work() -> None:
                async with Run(Tidy(shelf), pool, config(eval_goals=0)) as run:
                    await run.wait()

            task = asyncio.create_task(work())
            await asyncio.sleep(3.0)
            engine.kill()
            await asyncio.sleep(0.5)
            task.cancel()
            await asyncio.wait([task])
            assert task.cancelled()
        return asyncio.get_running_loop().time()

    assert virtual(main()) < OPENING + 12


def test_without_anybody_to_revive_it_a_lost_pool_says_so(virtual: Any, tmp_path: Path) -> None:
    """Outside a run, whatever is asked of a pool raises EngineLost once its last engine is lost."""

    async def main() -> None:
        engines = [Mortal(slots=1), Mortal(slots=1)]
        async with Pool(engines) as pool:
            await pool.start(0, 1.0, tmp_path)
            engines[0].kill()
            asked: list[Callable[[], Awaitable[Any]]] = [
                lambda: pool.start(0, 1.0, tmp_path),
                lambda: pool.export(0, tmp_path / "adapter"),
            ]
            with pytest.raises(EngineError, match="its process was killed"):
                await asked[0]()
            await asked[1]()  # the other one serves
            engines[1].kill("it burns")
            for ask in asked:
                with pytest.raises(EngineError, match="it burns"):
                    await ask()
            assert await pool.lost() == "it burns"

    virtual(main())
