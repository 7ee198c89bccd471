"""A run: every task of it in one TaskGroup, inside the caller's event loop.

    players   --claim/deliver--> dispatcher      as many as members may be in flight; wait for room under the bound
    clock     --gather/release--> dispatcher     the only finite loop; waits for measurements the schedule allows
    clock     --advance--> engine                seeds and coefficients; the new version is then live
    clock     --version--> evaluator             evaluates the centre beside training; waits for versions
    everybody --events--> journal, metrics, stream

When the clock has applied its last update and the evaluator has caught up, players are cancelled and the run is
finished. A bug anywhere cancels all tasks and leaves the run as the original exception; the journal is whole till then.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from pathlib import Path
from typing import Any, Self

from aes.clock import Clock
from aes.config import Config, Settings
from aes.dispatch import Dispatcher
from aes.errors import ConfigError, RunFailed, raise_bare
from aes.evaluation import evaluate
from aes.events import Bus, Finished, Started, Stream
from aes.journal import Journal, to_json
from aes.metrics import Metrics, interval, wilson
from aes.protocols import Engine, Task
from aes.rollout import Player, play_once
from aes.types import Member

CALIBRATION_GOALS = 64


class Run:
    """One training run. Enter it, iterate over its events if you like, leave it.

    Leaving waits for nothing: leave early and the run is cancelled; `await run.wait()` or iterate to the end to let it
    finish. The engine must be open and is left open. Without a folder nothing is written.

    Example:
        async with FakeEngine() as engine, Run(task, engine, Config(updates=10)) as run:
            async for event in run:
                print(event)

    Raises:
        ConfigError: settings that do not fit the task or the engine, before anything starts.
        AesError, or whatever bug ended the run: when leaving.
    """

    def __init__(
        self, task: Task, engine: Engine, config: Config, folder: Path | None = None, about: Settings | None = None
    ) -> None:
        check(task, engine, config)
        self.config = config
        self.metrics = Metrics(folder / "metrics.jsonl" if folder else None)
        self._task = task
        self._engine = engine
        self._folder = folder
        self._about = about
        self._bus = Bus()
        self._stream = Stream()
        self._group = asyncio.TaskGroup()
        self._versions: asyncio.Queue[int | None] = asyncio.Queue()
        self._pinned: Counter[int] = Counter()
        self._tasks: list[asyncio.Task[None]] = []
        self._journal: Journal | None = None
        self._over = asyncio.Event()
        self._finished = False
        self._began = 0.0
        self._ended: float | None = None

    async def __aenter__(self) -> Self:
        self._began = asyncio.get_running_loop().time()
        try:
            self._open()
            await self._prepare()
        except BaseException as error:
            self._close()
            raise_bare(error)
        await self._group.__aenter__()
        self._tasks = [self._group.create_task(self._evaluate(), name="evaluator")]
        dispatcher = Dispatcher(self.config, len(self._task.train_goals), self._bus.emit)
        for number in range(self.players):
            player = Player(self._task, self._engine, self.config, dispatcher, self._bus.emit)
            self._tasks.append(self._group.create_task(player.run(), name=f"player {number}"))
        clock = Clock(
            self._engine,
            self.config,
            dispatcher,
            self.players,
            self._bus.emit,
            lambda: set(self._pinned),
            self._reached,
        )
        self._tasks.append(self._group.create_task(self._lead(clock), name="clock"))
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        self._cancel()
        try:
            await self._group.__aexit__(kind, error, trace)
        except BaseExceptionGroup as group:
            if group.exceptions[0] is not error:  # the body's own error passes as it is
                raise_bare(group)
        finally:
            self._close()

    def __aiter__(self) -> Stream:
        """The run's events until it is finished. A slow reader misses the oldest, never delays the run."""
        return self._stream

    async def wait(self) -> None:
        """Wait until the run is over: finished, crashed, or left. What ended it is raised where it is left."""
        await self._over.wait()

    @property
    def players(self) -> int:
        """Members in flight at most."""
        return self.config.in_flight or self._engine.slots

    def summary(self) -> dict[str, Any]:
        """What the run came to, as plain values: the content of `summary.json`."""
        metrics = self.metrics
        evaluations = [
            {"version": version, **scores(e.scores, e.successes), "failures": e.failures}
            for version, e in sorted(metrics.evaluations.items())
        ]
        return {
            "finished": self._finished,
            "version": metrics.version,
            "evaluations": evaluations,
            "lags": {str(lag): count for lag, count in sorted(metrics.lags.items())},
            "episodes": metrics.episodes,
            "failures": metrics.failures,
            "tokens": metrics.tokens,
            "skipped": metrics.skipped,
            "dropped": metrics.dropped,
            "wasted_seconds": metrics.wasted_seconds,
            "seconds": self._seconds(),
        }

    def _open(self) -> None:
        if self._folder is not None:
            self._journal = self._open_folder(self._folder)
            self._bus.subscribe(self._journal)
        self._bus.subscribe(self.metrics)
        self._bus.subscribe(self._stream.put)

    def _close(self) -> None:
        self._seconds(stop=True)
        self._over.set()
        self._stream.close()
        if self._journal is not None:
            self._journal.close()

    async def _prepare(self) -> None:
        """Let the engine see the base model play where it needs to, and make version 0."""
        basis = (self._folder or Path()) / "basis.safetensors"
        if self._engine.wants_observation:
            if self._folder is None:
                raise ConfigError(
                    "basis 'activations' is kept in the run folder (give the run a folder, or basis='random')"
                )
            await self._engine.observe(True)
            await self._calibrate()
            await self._engine.observe(False)
        digest, dim = await self._engine.start(self.config.seed, self.config.sigma, basis)
        self._bus.emit(Started(digest, dim))

    async def _calibrate(self) -> None:
        """Have the base model play the first training goals. Raises RunFailed when it can play none."""
        async with self._engine.seat(Member(0)) as seat, asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(play_once(self._task, seat, self._engine, self.config, goal, seed))
                for seed, goal in enumerate(self._task.train_goals[:CALIBRATION_GOALS])
            ]
        failures = [task.result().failure for task in tasks]
        if all(failures):
            raise RunFailed(f"all {len(failures)} calibration episodes failed; the last reason: {failures[-1]}")

    async def _lead(self, clock: Clock) -> None:
        """Follow the clock to its end, let the evaluator catch up, and end the run."""
        await self._reached(0)
        await clock.run()
        await self._versions.put(None)
        await self._tasks[0]
        self._finish()

    def _finish(self) -> None:
        """All is done: leave the summary before anyone is told, since whoever hears of the end may leave at once."""
        self._finished = True
        seconds = self._seconds(stop=True)
        if self._folder is not None:
            (self._folder / "summary.json").write_text(to_json(self.summary(), indent=2) + "\n")
        self._bus.emit(Finished(self.config.updates, seconds))
        self._over.set()
        self._stream.close()
        self._cancel()

    def _seconds(self, stop: bool = False) -> float:
        """Seconds since the run was entered, until it was over; `stop` says that it is."""
        ended = self._ended if self._ended is not None else asyncio.get_running_loop().time()
        self._ended = ended if stop else self._ended
        return ended - self._began

    async def _reached(self, version: int) -> None:
        """Have a version evaluated where the settings ask for it; its weights stay held until then."""
        every, last = self.config.eval_every, self.config.updates
        if version in (0, last) or (every and version % every == 0):
            self._pinned[version] += 1
            await self._versions.put(version)

    async def _evaluate(self) -> None:
        """Evaluate and export versions as they come, until told that no more will."""
        goals = self._task.eval_goals[: self.config.eval_goals]
        while (version := await self._versions.get()) is not None:
            if goals:
                self._bus.emit(await evaluate(self._task, self._engine, self.config, version, goals))
            if self._folder is not None:
                await self._engine.export(version, self._folder / "adapters" / f"v{version:05d}")
            del self._pinned[version]

    def _cancel(self) -> None:
        current = asyncio.current_task()
        for task in self._tasks:
            if task is not current:
                task.cancel()

    def _open_folder(self, folder: Path) -> Journal:
        """Take a folder for this run alone. Raises ConfigError."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            journal = Journal(folder, asyncio.get_running_loop().time)
        except FileExistsError:
            held = "holds a run already" if folder.is_dir() else "is a file"
            raise ConfigError(f"run folder {folder} {held} (choose another --run-dir)") from None
        except OSError as error:
            raise ConfigError(f"run folder {folder}: {error.strerror} (choose another --run-dir)") from None
        about = {
            "config": self.config.model_dump(mode="json"),
            "about": self._about.model_dump(mode="json") if self._about else None,
            "task": {"name": self._task.name, **self._task.fingerprint},
            "engine": dict(self._engine.fingerprint),
        }
        (folder / "run.json").write_text(to_json(about, indent=2) + "\n")
        return journal


def check(task: Task, engine: Engine, config: Config) -> None:
    """Refuse settings that do not fit the task or the engine. Raises ConfigError."""
    if config.in_flight is not None and config.in_flight > engine.slots:
        raise ConfigError(
            f"in_flight {config.in_flight}: the engine has {engine.slots} slots (lower it, or raise slots)"
        )
    if not task.train_goals:
        raise ConfigError(f"task {task.name}: no training goals")
    if config.eval_goals > len(task.eval_goals):
        held = len(task.eval_goals)
        raise ConfigError(f"eval_goals {config.eval_goals}: task {task.name} holds out {held} goals (lower eval_goals)")


def scores(values: tuple[float, ...], successes: int) -> dict[str, Any]:
    """Mean score and success rate with 95 % intervals; failed goals (nan) count in neither."""
    mean, half = interval(list(values))
    goals = sum(not math.isnan(value) for value in values)
    low, high = wilson(successes, goals)
    return {
        "goals": goals,
        "score": mean,
        "score_95": [mean - half, mean + half],
        "success": successes / goals if goals else math.nan,
        "success_95": [low, high],
    }
