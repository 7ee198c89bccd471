"""Players: tasks that fetch a member, seat it in the engine, and play its goals, all at once."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from aes.config import Config
from aes.dispatch import Dispatcher, Job
from aes.errors import EngineError, raise_bare
from aes.events import EpisodeFailed, Event
from aes.policy import MemberPolicy
from aes.protocols import Engine, Seat, Task
from aes.types import Episode, Sampling


class Player:
    """Plays members until cancelled; one player is one member in flight."""

    def __init__(
        self, task: Task, engine: Engine, config: Config, dispatcher: Dispatcher, emit: Callable[[Event], None]
    ) -> None:
        self._task = task
        self._engine = engine
        self._config = config
        self._dispatcher = dispatcher
        self._emit = emit

    async def run(self) -> None:
        """Claim, play, deliver, forever. Cancelling aborts the episodes in hand and frees the seat."""
        while True:
            job = await self._dispatcher.claim()
            try:
                async with asyncio.timeout(None) as scope:
                    with self._dispatcher.abortable(job, scope):
                        episodes = await self._play(job)
            except TimeoutError:
                if not scope.expired():
                    raise
                continue  # the proposal was dropped
            await self._dispatcher.deliver(job, episodes)

    async def _play(self, job: Job) -> list[Episode]:
        """All goals of one member at once."""
        async with self._engine.seat(job.member) as seat:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._episode(seat, job, goal)) for goal in job.proposal.goals]
            return [task.result() for task in tasks]

    async def _episode(self, seat: Seat, job: Job, goal: int) -> Episode:
        """One goal, tried again after a failure as often as the settings allow."""
        for attempt in range(self._config.retries + 1):
            episode = await play_once(
                self._task, seat, self._engine, self._config, self._task.train_goals[goal], episode_seed(job, goal)
            )
            if episode.failure is None:
                break
            excused = attempt == self._config.retries
            self._emit(EpisodeFailed(job.proposal.index, goal, episode.failure, excused))
        return episode


async def play_once(task: Task, seat: Seat, engine: Engine, config: Config, goal: Any, seed: int) -> Episode:
    """Play one goal with a fresh policy. Whatever goes wrong in it becomes a failed Episode, save a lost engine."""
    sampling = Sampling(max_tokens=config.max_tokens, temperature=config.temperature)
    policy = MemberPolicy(seat, engine.codec, engine.context, sampling)
    try:
        return checked(await task.play(policy, goal, seed))
    except (Exception, asyncio.CancelledError) as error:
        if (fatal := _fatal(error)) is not None:
            raise_bare(fatal)
        return failed(f"{type(error).__name__}: {error}")


def checked(episode: object) -> Episode:
    """What a user's `play` returned, in plain Python numbers; a fitness that is none is a failure.

    Raises TypeError or ValueError for what cannot be an Episode.
    """
    if not isinstance(episode, Episode):
        raise TypeError(f"play returned {type(episode).__name__}, not an Episode")
    fitness, failure = float(episode.fitness), episode.failure
    if failure is None and not math.isfinite(fitness):
        failure = f"non-finite fitness {fitness}"
    return replace(
        episode,
        fitness=0.0 if failure is not None else fitness,
        success=bool(episode.success),
        turns=int(episode.turns),
        tokens=int(episode.tokens),
        failure=failure,
    )


def failed(reason: str) -> Episode:
    """An episode that came to nothing."""
    return Episode(fitness=0.0, success=False, turns=0, tokens=0, failure=reason)


def _fatal(error: BaseException) -> BaseException | None:
    """What of an error must end more than one episode: a lost engine, even in a group, and being cancelled ourselves.

    A cancellation that nobody asked this task for comes of the user's own tasks, and is a failure like any other.
    """
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return error if task is None or task.cancelling() else None
    if isinstance(error, BaseExceptionGroup):
        return error.subgroup(EngineError)
    return error if isinstance(error, EngineError) else None


def episode_seed(job: Job, goal: int) -> int:
    """The luck of one episode: the same for every member of the proposal."""
    return (job.proposal.index * 1_000_003 + goal) & 0x7FFFFFFF
