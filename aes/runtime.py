"""A run: every task of it in one TaskGroup, inside the caller's event loop.

    players   --claim/deliver--> dispatcher      as many as members may be in flight; wait for room under the bound
    clock     --gather/release--> dispatcher     the only finite loop; waits for measurements the schedule allows
    clock     --advance--> engine                seeds and coefficients; the new version is then live
    clock     --version--> evaluator             evaluates the centre beside training; waits for versions
    reviver   --journal--> engine                opens a lost engine again and rebuilds its versions; waits for a loss
    everybody --events--> journal, metrics, stream

When the clock has applied its last update and the evaluator has caught up, players are cancelled and the run is
finished. A bug anywhere cancels all tasks and leaves the run as the original exception; the journal is whole till then.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from aes.beginning import Beginning
from aes.checks import check, same
from aes.clock import Clock
from aes.config import Config, Settings
from aes.dispatch import Dispatcher
from aes.engine.claim import Claim
from aes.engine.pool import Pool
from aes.engine.revival import Reviver
from aes.errors import ConfigError, DataError, raise_bare
from aes.evaluation import Evaluator
from aes.events import Bus, Finished, Listener, Stream
from aes.journal import Journal, to_json, writing
from aes.metrics import Best, Metrics
from aes.past import Past
from aes.protocols import Engine, Task
from aes.referee import Referee
from aes.rollout import Player


class Run:
    """One training run. Enter it, iterate over its events if you like, leave it.

    Leaving waits for nothing: leave early and the run is cancelled; `await run.wait()` or iterate to the end to let it
    finish. The engine must be open and is left open; one that dies or hangs is opened again, and what it was doing is
    done again. Without a folder nothing is written.

    Example:
        async with FakeEngine() as engine, Run(task, engine, Config(updates=10)) as run:
            async for event in run:
                print(event)

    Raises:
        ConfigError: settings that do not fit the task or the engine, before anything starts.
        AesError, or whatever bug ended the run: when leaving.
    """

    def __init__(
        self,
        task: Task,
        engine: Engine,
        config: Config,
        folder: Path | None = None,
        about: Settings | None = None,
        past: Past | None = None,
        listeners: Sequence[Listener] = (),
    ) -> None:
        """`past` is where the run begins; `resume` and `fork` give it, and nothing is version 0.

        `listeners` are called with every event as it happens, after the journal; a resumed run first tells them all
        that its journal holds.
        """
        check(task, engine, config)
        self.config = config
        self.metrics = Metrics(folder / "metrics.jsonl" if folder else None)
        self._pool = Pool.around(engine)
        self._claim = Claim([device.engine for device in self._pool.devices])
        self._referee = Referee(task, self._pool, config)
        self._beginning = Beginning(self._referee, folder, about, past)
        self._listeners = Bus(self.metrics, *listeners)
        self._bus = Bus()
        self._stream = Stream()
        self._group = asyncio.TaskGroup()
        self._tasks: list[asyncio.Task[None]] = []
        self._journal: Journal | None = None
        self._dispatcher: Dispatcher | None = None
        self._over = asyncio.Event()
        self._exporting = Counter[int]()
        self._finished = False
        self._began = 0.0
        self._ended: float | None = None

    @classmethod
    def resume(cls, task: Task, engine: Engine, folder: Path, listeners: Sequence[Listener] = ()) -> Self:
        """Go on with the run in a folder, from its last whole event.

        Measurements that wait are used, members that were out are played again with the same seeds, and evaluations
        that are due are made up for. Where the schedule is controlled and the engine deterministic, the digests are
        those of the run that was never interrupted. Raises DataError for what is no run, a broken or a finished one,
        or one of another task or engine.
        """
        past = Past.read(folder)
        if past.finished:
            raise DataError(f"run {folder}: it has finished, at version {past.version} (fork it to go on from there)")
        same(past, task, engine)
        return cls(task, engine, Config.parse(past.about["config"]), folder, past=past, listeners=listeners)

    @classmethod
    def fork(
        cls, past: Past, at: int, task: Task, engine: Engine, config: Config, folder: Path,
        about: Settings | None = None, listeners: Sequence[Listener] = (),
    ) -> Self:  # fmt: skip
        """Begin a new run at a version of another one; its journal holds the updates that led there.

        Settings and task may differ, the adapter space and the model may not. Raises DataError where they do or there
        is no such version, ConfigError for too few updates.
        """
        same(past, None, engine)
        if config.updates <= at:
            raise ConfigError(f"updates {config.updates}: the fork begins at version {at} (raise updates above it)")
        return cls(task, engine, config, folder, about, past.cut(at), listeners)

    async def __aenter__(self) -> Self:
        self._began = asyncio.get_running_loop().time()
        referee = self._referee
        try:
            self._claim.take()
            await referee.__aenter__()
            past = self._open()
            evaluator = Evaluator(referee, self._beginning.folder, past, self._bus.emit)
            due = evaluator.due(past.version if past else 0)
            reviver = Reviver(self._pool, self._beginning.rebuild, self._bus.emit)
            await self._beginning.prepare(reviver.persist, self._bus.emit, {*due, *self._held()})
        except BaseException as error:
            await self._close()
            raise_bare(error)
        await self._group.__aenter__()
        self._dispatcher = Dispatcher(self.config, len(referee.task.train_goals), self._bus.emit, past)
        clock = Clock(
            self._pool,
            self.config,
            self._dispatcher,
            self.players,
            self._bus.emit,
            lambda: {*evaluator.pinned, *self._held()},
            evaluator.reached,
        )
        self._tasks.append(self._group.create_task(reviver.run(), name="reviver"))
        for number in range(self.players):
            player = Player(referee, self._dispatcher, self._bus.emit)
            self._tasks.append(self._group.create_task(player.run(), name=f"player {number}"))
        self._tasks.append(self._group.create_task(self._lead(clock, evaluator, due), name="clock"))
        if self._journal is not None:
            self._tasks.append(self._group.create_task(self._journal.keep_safe(), name="journal"))
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        self._cancel()
        try:
            await self._group.__aexit__(kind, error, trace)
        except BaseExceptionGroup as group:
            if group.exceptions[0] is not error:  # the body's own error passes as it is
                raise_bare(group)
        finally:
            await self._close()

    def __aiter__(self) -> Stream:
        """The run's events until it is finished. A slow reader misses the oldest, never delays the run."""
        return self._stream

    async def wait(self) -> None:
        """Wait until the run is over: finished, crashed, or left. What ended it is raised where it is left."""
        await self._over.wait()

    def stop(self, grace: float) -> None:
        """End early and well: send out nothing more, give what is out `grace` seconds to be measured, then be over.

        Everything measured is in the journal, from which `resume` goes on. Only while the run is entered.
        """
        self._tasks.append(self._group.create_task(self._wind_down(grace), name="stop"))

    @property
    def finished(self) -> bool:
        """Whether the last update is applied and evaluated."""
        return self._finished

    @property
    def players(self) -> int:
        """Members in flight at most."""
        return self.config.in_flight or self._pool.slots

    @property
    def best(self) -> Best | None:
        """The best version so far, by its mean score on the held-out goals; the engines hold it. None at first."""
        return self.metrics.best

    async def export(self, version: int, folder: Path) -> None:
        """Write a version as a PEFT adapter, while training goes on: the best, or one of the last `max_lag` + 1.

        Only while the run is entered. Raises EngineError for a version that is no longer held (`aes export` rebuilds
        any from a run folder).
        """
        self._exporting[version] += 1
        try:
            await self._pool.export(version, folder)
        finally:
            self._exporting -= Counter([version])

    def summary(self) -> dict[str, Any]:
        """What the run came to, as plain values: the content of `summary.json`."""
        return {"finished": self._finished, **self.metrics.summary(), "seconds": self._seconds()}

    def _open(self) -> Past | None:
        """Open the journal and tell it, and everybody, what is past."""
        beginning = self._beginning
        self._journal = beginning.open_journal()
        past = beginning.past
        if past is not None and beginning.resuming:
            self.metrics.forget_file()
            past = Past.read(past.folder, self._listeners.emit)
            self._began -= past.seconds
        self._bus.subscribe(self._journal or beginning.remember)
        self._bus.subscribe(self._listeners.emit)
        self._bus.subscribe(self._stream.put)
        return past

    async def _close(self) -> None:
        self._seconds(stop=True)
        self._over.set()
        self._stream.close()
        self._claim.release()
        try:
            await self._referee.__aexit__()
        finally:
            if self._journal is not None:
                self._journal.close()

    async def _lead(self, clock: Clock, evaluator: Evaluator, due: list[int]) -> None:
        """Follow the clock to its end, let the evaluator catch up, and end the run."""
        async with asyncio.TaskGroup() as group:
            group.create_task(evaluator.run(), name="evaluator")
            for version in due:
                await evaluator.reached(version)
            await clock.run()
            await evaluator.no_more()
        self._finished = True
        self._end()

    async def _wind_down(self, grace: float) -> None:
        """Let what is out come in, for a while, and end the run unfinished."""
        assert self._dispatcher is not None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await self._dispatcher.drain()
        self._end()

    def _end(self) -> None:
        """Leave the summary, tell everybody that the run is over, and have its tasks end."""
        seconds = self._seconds(stop=True)
        if self._beginning.folder is not None:
            with writing(self._beginning.folder / "summary.json") as path:
                path.write_text(to_json(self.summary(), indent=2) + "\n")
        if self._finished:  # only now: whoever hears of it may leave at once
            self._bus.emit(Finished(self.config.updates, seconds))
        self._over.set()
        self._stream.close()
        self._cancel()

    def _held(self) -> set[int]:
        """Versions that somebody may ask for by hand."""
        return {*self._exporting, *([self.best.version] if self.best else [])}

    def _seconds(self, stop: bool = False) -> float:
        """Seconds since the run was entered, until it was over; `stop` says that it is."""
        ended = self._ended if self._ended is not None else asyncio.get_running_loop().time()
        self._ended = ended if stop else self._ended
        return ended - self._began

    def _cancel(self) -> None:
        current = asyncio.current_task()
        for task in self._tasks:
            if task is not current:
                task.cancel()
