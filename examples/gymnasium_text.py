"""A Gymnasium environment, told in words: the agent learns the way over a frozen lake.

Any environment of Gymnasium's will do: a few lines put its observations and actions into words. On the fake engine, in
seconds (it needs the extra: pip install 'aes-runtime[gymnasium]'):

    python examples/gymnasium_text.py
"""

from __future__ import annotations

import asyncio
from typing import Any

import gymnasium as gym

from aes import ChatTask, Config, Run
from aes.engine.fake import FakeEngine

WAYS = {"go[left]": 0, "go[down]": 1, "go[right]": 2, "go[up]": 3}
SIDE, STEPS = 4, 10


class SpokenLake:
    """FrozenLake in words: the square you stand on, and the ways to go. Reward is the way made good."""

    def __init__(self, goal: int) -> None:
        self._env: gym.Env[int, int] = gym.make(
            "FrozenLake-v1", map_name="4x4", is_slippery=False, max_episode_steps=STEPS
        )
        self._best = 0

    def reset(self, *, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        square, info = self._env.reset(seed=seed)
        return f"Cross the lake to square s{SIDE * SIDE - 1}, and keep out of the holes.\n{_shown(square)}", info

    def step(self, text: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        if text.strip() not in WAYS:
            return "There is no such way.", 0.0, False, True, {"success": False}
        square, reached, terminated, truncated, info = self._env.step(WAYS[text.strip()])
        gained, self._best = max(0, _way(square) - self._best), max(_way(square), self._best)
        return _shown(square), gained / (2 * SIDE - 2), terminated, truncated, {**info, "success": reached == 1.0}


def _way(square: int) -> int:
    """Steps made good towards the far corner."""
    return square // SIDE + square % SIDE


def _shown(square: int) -> str:
    return f"You stand on s{square}: {' '.join(WAYS)}"


async def main() -> None:
    task = ChatTask("frozen-lake", SpokenLake, train_goals=range(50), eval_goals=range(50, 55), max_turns=STEPS)
    config = Config(updates=60, pairs=16, goals=1, sigma=1.0, lr=1.0, eval_every=20, eval_goals=5, max_tokens=64)
    async with FakeEngine(dim=2048) as engine, Run(task, engine, config) as run:
        await run.wait()
    for evaluation in run.summary()["evaluations"]:
        print(f"version {evaluation['version']}: score {evaluation['score']:.2f}, across {evaluation['success']:.0%}")


if __name__ == "__main__":
    asyncio.run(main())
