"""Train on your own text environment, inside your own event loop: the fake engine, so it runs anywhere in a second.

python examples/own_task.py
"""

from __future__ import annotations

import asyncio
import random
from typing import Any

from aes import ChatTask, Config, Run
from aes.engine.fake import FakeEngine
from aes.events import Evaluated

COLOURS = ["red", "green", "blue", "black", "white", "pink"]


class Pick:
    """Pick the colour that is asked for; Gymnasium's words, one turn."""

    def __init__(self, goal: int) -> None:
        self._random = random.Random(goal)
        self._wanted = self._random.choice(COLOURS)

    def reset(self, *, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        offers = " ".join(f"pick[{colour}]" for colour in self._random.sample(COLOURS, len(COLOURS)))
        return f"Wanted: {self._wanted}\n{offers}", {}

    def step(self, text: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        return "Thank you.", float(text == f"pick[{self._wanted}]"), True, False, {}


async def main() -> None:
    task = ChatTask("pick", make=Pick, train_goals=range(200), eval_goals=range(200, 300))
    config = Config(updates=10, pairs=8, goals=8, sigma=1.0, lr=1.0, max_lag=2, eval_goals=100)
    async with FakeEngine() as engine, Run(task, engine, config) as run:
        async for event in run:
            if isinstance(event, Evaluated):
                print(f"version {event.version}: {sum(event.scores) / len(event.scores):.2f}")
    print("realised lag:", dict(sorted(run.metrics.lags.items())))


if __name__ == "__main__":
    asyncio.run(main())
