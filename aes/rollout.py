"""Players: tasks that fetch a member, seat it in the engine, and play its goals, all at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from aes.dispatch import Dispatcher, Job
from aes.errors import EngineLost
from aes.events import EpisodeFailed, Event
from aes.protocols import Seat
from aes.referee import Referee
from aes.together import together
from aes.types import Episode, Failure


class Player:
    """Plays members until cancelled; one player is one member in flight."""

    def __init__(self, referee: Referee, dispatcher: Dispatcher, emit: Callable[[Event], None]) -> None:
        self._referee = referee
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
            except EngineLost:
                await self._dispatcher.give_back(job)
                continue
            await self._dispatcher.deliver(job, episodes)

    async def _play(self, job: Job) -> list[Episode]:
        """All goals of one member at once."""
        async with self._referee.engine.seat(job.member) as seat:
            return await together(self._episode(seat, job, goal) for goal in job.proposal.goals)

    async def _episode(self, seat: Seat, job: Job, goal: int) -> Episode:
        """One goal, every failed try of which is told."""

        def tell(why: Failure, last: bool) -> None:
            self._emit(EpisodeFailed(job.proposal.index, goal, why.kind, why.reason, last))

        return await self._referee.play(seat, self._referee.task.train_goals[goal], episode_seed(job, goal), tell)


def episode_seed(job: Job, goal: int) -> int:
    """The luck of one episode: the same for every member of the proposal."""
    return (job.proposal.index * 1_000_003 + goal) & 0x7FFFFFFF
