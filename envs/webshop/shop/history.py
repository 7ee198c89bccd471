"""What an observation repeats of the steps before it."""

from __future__ import annotations

from collections import deque

from envs.webshop.catalog.elements import SEPARATOR


class History:
    """The last so many observations and actions, written in front of the present observation, oldest first."""

    def __init__(self, observations: int, actions: int) -> None:
        self._observations = observations
        self._actions = actions
        self._steps: deque[tuple[str, str]] = deque(maxlen=max(observations, actions))
        self._present = ""

    def begin(self, observation: str) -> str:
        """Forget all but the first observation of an episode, and return it."""
        self._steps.clear()
        self._present = observation
        return observation

    def add(self, action: str, observation: str) -> str:
        """Take in a step; return what came before and its observation."""
        self._steps.append((self._present, action))
        self._present = observation
        texts = []
        for ago, (seen, done) in zip(range(len(self._steps), 0, -1), self._steps, strict=True):
            texts += [seen] if ago <= self._observations else []
            texts += [done] if ago <= self._actions else []
        return SEPARATOR.join((*texts, observation))
