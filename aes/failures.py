"""Failures as data: whatever ends a play becomes a kind and a reason, and a run in which too many fail ends.

A reason is one line of bounded length that ends in the place in the user's code, where there is one.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from typing import get_args

from aes import place
from aes.config import Config
from aes.errors import ContextOverflow, GenerationFailed, RunFailed
from aes.types import Episode, Failure, FailureKind

RETRIED: frozenset[FailureKind] = frozenset({"environment", "timeout", "generation", "engine"})
"""Kinds that another try may escape; the others would only come again."""

LONGEST = 500
"""Characters that a reason may have."""

LEAST_WINDOW = 32
_LARGEST = 2**53
_KINDS: dict[type[BaseException], FailureKind] = {ContextOverflow: "context", GenerationFailed: "generation"}


def failure(kind: FailureKind, reason: str, where: str = "") -> Failure:
    """A failure whose reason is one line of bounded length; the place comes last and is never cut."""
    end = f" (at {where})" if where else ""
    start = " ".join(reason[: 2 * LONGEST].split())
    room = LONGEST - len(end)
    return Failure(kind, (start if len(start) <= room else start[: room - 3] + "...") + end)


def failed(why: Failure) -> Episode:
    """An episode that came to nothing."""
    return Episode(fitness=0.0, success=False, turns=0, tokens=0, failure=why)


def failure_of(error: BaseException) -> Failure:
    """What a play raised, as data. Of a group, the error that tells the kind speaks for all."""
    leaves = list(_leaves(error))
    for leaf in leaves:
        for cause, kind in _KINDS.items():
            if isinstance(leaf, cause):
                return failure(kind, _words(leaf))
    others = f" (and {len(leaves) - 1} more)" if len(leaves) > 1 else ""
    return failure("environment", _words(leaves[0]) + others, place.raised(leaves[0]))


def checked(episode: object) -> Episode:
    """What a user's `play` returned, in plain Python numbers; what is no Episode or has no fitness is a failed one."""
    if not isinstance(episode, Episode):
        return failed(
            failure("result", f"play returned {type(episode).__name__}, not an Episode (or, in an AgentTask, a number)")
        )
    try:
        why = _reported(episode.failure)
        fitness = float(episode.fitness) if why is None else 0.0
        success, turns, tokens = bool(episode.success), int(episode.turns), int(episode.tokens)
        transcript, info = episode.transcript, episode.info
    except Exception as error:  # whatever the objects in it raise
        return failed(failure("result", f"play returned an Episode of other things than numbers: {_words(error)}"))
    if not (0 <= turns <= _LARGEST and 0 <= tokens <= _LARGEST):
        return failed(failure("result", "play returned an Episode whose turns or tokens are not from 0 to 2**53"))
    if not math.isfinite(fitness):
        fitness, why = 0.0, failure("fitness", f"play returned a fitness of {fitness}")
    return Episode(fitness, success, turns, tokens, why, transcript, info)


class FailureGuard:
    """Ends a run in which too many of the last episodes failed: those of two updates, 32 at least.

    A resumed run begins to count anew: what made its episodes fail may have been mended.
    """

    def __init__(self, config: Config) -> None:
        self._window = max(LEAST_WINDOW, 2 * config.episodes_per_update)
        self._share = config.max_failures
        self._recent: deque[Failure | None] = deque(maxlen=self._window)
        self._failed = 0

    def note(self, episodes: Iterable[Episode]) -> None:
        """Take in episodes that were tried for the last time. Raises RunFailed, with counts and reasons."""
        for episode in episodes:
            oldest = self._recent[0] if len(self._recent) == self._window else None
            self._failed += (episode.failure is not None) - (oldest is not None)
            self._recent.append(episode.failure)
        if self._failed > self._share * self._window:
            raise RunFailed(
                f"{self._failed} of the last {len(self._recent)} episodes failed, more than max_failures"
                f" {self._share:g} of {self._window} ({summary(filter(None, self._recent))});"
                " mend the cause and resume the run"
            )


def summary(failures: Iterable[Failure]) -> str:
    """Counts by kind, and the reasons that came most often, in one line; nothing where there is none."""
    if not (counted := Counter(failures)):
        return ""
    kinds = Counter[str]()
    for why, count in counted.items():
        kinds[why.kind] += count
    words = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    return f"{words}; most often " + "; ".join(f"{why} ({count} times)" for why, count in counted.most_common(3))


def _reported(why: object) -> Failure | None:
    """A failure that a play reported itself, where a plain text will do."""
    if isinstance(why, Failure) and why.kind in get_args(FailureKind):
        return failure(why.kind, str(why.reason))
    return None if why is None else failure("result", str(why))


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _words(error: BaseException) -> str:
    """An error's type and message; a user's own class may fail even at that."""
    try:
        message = str(error)
    except Exception as problem:
        message = f"(its message raised {type(problem).__name__})"
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
