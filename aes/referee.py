"""The referee: has one goal played within the rules, and says what came of it, whatever the play does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

from aes.config import Config
from aes.endpoint import Endpoint
from aes.errors import AesError, EngineError, raise_bare
from aes.failures import RETRIED, checked, failed, failure, failure_of
from aes.policy import MemberPolicy
from aes.protocols import Engine, Policy, Seat, Task
from aes.types import Episode, Failure, Sampling
from aes.watchdog import Watchdog, Watched

GRACE_S = 10.0
"""Seconds that a cancelled play has to clean up; it is then not run any further."""

_FATAL = (EngineError, KeyboardInterrupt, SystemExit)

Tell = Callable[[Failure, bool], None]
"""Hears of every failed try, and whether it was the last."""


class Referee:
    """Has the members of one engine play the goals of one task; enter it for its watchdog and its endpoint."""

    def __init__(self, task: Task, engine: Engine, config: Config) -> None:
        self.task = task
        self.engine = engine
        self.config = config
        self._limit = config.episode_seconds or None
        self._watchdog = Watchdog(self._limit)
        self._endpoint = Endpoint()

    async def __aenter__(self) -> Self:
        self._watchdog.__enter__()
        await self._endpoint.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._watchdog.__exit__(*exc)
        await self._endpoint.__aexit__(*exc)

    async def play(self, seat: Seat, goal: Any, seed: int, tell: Tell = lambda why, last: None) -> Episode:
        """Play one goal, again after a failure that another try may escape, as often as the settings allow.

        Whatever goes wrong in a play becomes a failed Episode, save a lost engine and what ends a program. Cancelling
        leaves nothing behind: the play has GRACE_S to clean up.
        """
        tries = self.config.retries + 1
        while True:
            tries -= 1
            episode = await self._once(seat, goal, seed)
            if episode.failure is None:
                return episode
            last = not tries or episode.failure.kind not in RETRIED
            tell(episode.failure, last)
            if last:
                return episode

    async def _once(self, seat: Seat, goal: Any, seed: int) -> Episode:
        """One try, with a fresh policy."""
        sampling = Sampling(max_tokens=self.config.max_tokens, temperature=self.config.temperature)
        engine = self.engine
        policy = MemberPolicy(seat, engine.codec, engine.context, sampling, seed, self._endpoint.admit)
        watched = Watched(self._call(policy, goal, seed), self._watchdog)
        # A task of its own, always awaited here: a play that cancels itself then ends nobody else.
        playing = asyncio.create_task(watched)
        late, waits_at = False, ""
        try:
            late = await self._is_late(playing, watched)
        finally:
            policy.close()
            if not playing.done():
                waits_at = watched.waits_at()
                await _end(playing, watched)
            if playing.done() and not playing.cancelled():
                playing.exception()  # seen, so that asyncio does not report it when we are cancelled
        return _counted(self._ruling(playing, watched, late, waits_at, policy.trouble), policy)

    async def _is_late(self, playing: asyncio.Task[object], watched: Watched[object]) -> bool:
        """Wait for a play to end, or until its time is up, to which is added what other plays have held up the loop."""
        left, lost = self._limit, self._watchdog.held_up
        while left is None or left > 0:
            if (await asyncio.wait([playing], timeout=left))[0]:
                return False
            lost, before = self._watchdog.held_up - watched.held_up, lost
            left = lost - before
        return True

    async def _call(self, policy: Policy, goal: Any, seed: int) -> object:
        return await self.task.play(policy, goal, seed)

    def _ruling(
        self, playing: asyncio.Task[object], watched: Watched[object], late: bool, waits_at: str, told: AesError | None
    ) -> Episode:
        """What came of a play that has ended, or was given up.

        `told` is why the endpoint's last answer was an error: where the play has raised then, that is the reason.
        """
        if playing.done() and not playing.cancelled() and playing.exception() is not None:
            _pass_on(told)
            _pass_on(playing.exception())
        if watched.stopped_at is not None:
            long = f"computed for {self._limit:g} s without an await"
            return failed(failure("timeout", f"{long} (episode_seconds)", watched.stopped_at))
        if late:
            return failed(failure("timeout", f"not over after {self._limit:g} s (episode_seconds)", waits_at))
        try:
            return checked(playing.result())
        except BaseException as error:
            return failed(failure_of(told or error))


def _counted(episode: Episode, policy: MemberPolicy) -> Episode:
    """With the turns and tokens that the policy has counted, where the play tells none."""
    if episode.failure is not None:
        return episode
    return replace(episode, turns=episode.turns or policy.turns, tokens=episode.tokens or policy.tokens)


async def _end(playing: asyncio.Task[Any], watched: Watched[Any]) -> None:
    """Cancel a play; where it has not ended in time, or we are cancelled once more, see that it never goes on.

    What it waits for may ignore the cancellation, such as a task of its own: it is then left waiting.
    """
    try:
        playing.cancel()
        await asyncio.wait([playing], timeout=GRACE_S)
    finally:
        if not playing.done():
            watched.give_up()
            playing.cancel()
            await asyncio.wait([playing], timeout=1.0)


def _pass_on(error: BaseException | None) -> None:
    """Raise what must end more than one episode, even out of a group: a lost engine, and what ends a program."""
    fatal = error.subgroup(_FATAL) if isinstance(error, BaseExceptionGroup) else error
    if isinstance(fatal, (BaseExceptionGroup, *_FATAL)):
        raise_bare(fatal)
