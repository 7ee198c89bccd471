"""The task of a simulation: an episode is a number of turns of so many tokens, and its fitness what the member says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from aes.protocols import Policy
from aes.simulation.lengths import Lengths, Turn
from aes.types import Episode

GOALS = 1 << 14


class SimulatedTask:
    """Plays lengths against a simulated engine, whose members answer with what they are worth.

    Members of a pair have the first turn in common and the rest of the episode to themselves.

    Args:
        lengths: how long episodes are.
        noise: standard deviation of an episode's fitness around the member's worth.
        by_turn: one request a turn; else one for the first turn and one for all that follow, which is cheaper and takes
            the device as long, but waits for the driver and for a place in the batch once only.
    """

    name = "simulation"
    train_goals: Sequence[int] = range(GOALS)
    eval_goals: Sequence[int] = ()
    fingerprint: Mapping[str, str] = {}

    def __init__(self, lengths: Lengths, noise: float = 0.0, *, by_turn: bool = True) -> None:
        self._lengths = lengths
        self._noise = noise
        self._by_turn = by_turn

    async def play(self, policy: Policy, goal: int, seed: int) -> Episode:
        """One episode."""
        first = self._lengths.draw(Random(seed))[0]
        worth = await _ask(policy, first)
        luck = Random(f"{seed} {worth}")
        turns = [first, *self._lengths.draw(luck)[1:]]
        for turn in turns[1:] if self._by_turn else _together(turns[1:]):
            await _ask(policy, turn)
        fitness = float(worth) + luck.gauss(0, self._noise)
        return Episode(fitness, success=False, turns=len(turns), tokens=sum(turn.reply for turn in turns))


def _together(turns: Sequence[Turn]) -> Sequence[Turn]:
    return [Turn(sum(turn.prompt for turn in turns), sum(turn.reply for turn in turns))] if turns else []


async def _ask(policy: Policy, turn: Turn) -> str:
    reply = await policy.complete([{"role": "user", "content": str(turn.prompt)}], max_tokens=turn.reply)
    return reply.text
