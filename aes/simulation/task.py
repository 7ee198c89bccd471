"""The task of a simulation: an episode is a number of turns of so many tokens, and its fitness what the member says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from aes.protocols import Policy
from aes.simulation.engine import QUESTION
from aes.simulation.lengths import Lengths, Turn
from aes.types import Episode


class SimulatedTask:
    """Plays lengths against a simulated engine; what a member is worth it is asked first, which takes no time.

    Args:
        lengths: how long episodes are.
        goals: how many goals there are.
        noise: standard deviation of an episode's fitness around the member's worth.
        by_turn: one request a turn; else one an episode, which is cheaper and takes the device as long, but waits for
            the driver and for a place in the batch once only.
    """

    name = "simulation"
    eval_goals: Sequence[int] = ()
    fingerprint: Mapping[str, str] = {}

    def __init__(self, lengths: Lengths, goals: int, noise: float = 0.0, *, by_turn: bool = True) -> None:
        self.train_goals: Sequence[int] = range(goals)
        self._lengths = lengths
        self._noise = noise
        self._by_turn = by_turn

    async def play(self, policy: Policy, goal: int, seed: int) -> Episode:
        """One episode."""
        member, worth = (await _ask(policy, QUESTION, 1)).split()
        turns = self._lengths.draw(member, seed)
        prompt, reply = sum(turn.prompt for turn in turns), sum(turn.reply for turn in turns)
        for turn in turns if self._by_turn else (Turn(prompt, reply),):
            await _ask(policy, str(turn.prompt), turn.reply)
        noise = Random(f"noise {member} {seed}").gauss(0, self._noise) if self._noise else 0.0
        return Episode(float(worth) + noise, success=False, turns=len(turns), tokens=reply)


async def _ask(policy: Policy, prompt: str, tokens: int) -> str:
    return (await policy.complete([{"role": "user", "content": prompt}], max_tokens=tokens)).text
