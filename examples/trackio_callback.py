"""Metrics in trackio, by a listener of ten lines: the fake engine, so it runs anywhere in a second.

pip install trackio; python examples/trackio_callback.py; trackio show --project pick
"""

from __future__ import annotations

import asyncio
import os
import random
import tempfile
from typing import Any

os.environ.setdefault("TRACKIO_DIR", tempfile.mkdtemp(prefix="trackio-"))  # leave this out to keep what is logged

import trackio  # type: ignore[import-not-found, import-untyped, unused-ignore]

from aes import ChatTask, Config, Run
from aes.engine.fake import FakeEngine
from aes.events import Evaluated, Event, Updated
from aes.metrics import Metrics


class Trackio:
    """Logs a row for every update and evaluation, under the names of `metrics.jsonl`, at its version."""

    def __init__(self, project: str, config: Config) -> None:
        self._run: Any = trackio.init(project=project, config=config.model_dump(mode="json"), embed=False)
        self._metrics = Metrics()

    def __call__(self, event: Event) -> None:
        self._metrics(event)
        if isinstance(event, Updated | Evaluated):
            row = self._metrics.row(event)
            self._run.log({name: value for name, value in row.items() if value is not None}, step=row["version"])

    def close(self) -> None:
        self._run.finish()


class Pick:
    """Pick the colour that is asked for; Gymnasium's words, one turn."""

    def __init__(self, goal: int) -> None:
        self._random = random.Random(goal)
        self._colours = self._random.sample(["red", "green", "blue", "black", "white", "pink"], 6)
        self._wanted = self._random.choice(self._colours)

    def reset(self, *, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        return f"Wanted: {self._wanted}\n{' '.join(f'pick[{colour}]' for colour in self._colours)}", {}

    def step(self, text: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        return "Thank you.", float(text == f"pick[{self._wanted}]"), True, False, {}


async def main() -> None:
    task = ChatTask("pick", make=Pick, train_goals=range(200), eval_goals=range(200, 300))
    config = Config(updates=10, pairs=8, goals=8, sigma=1.0, lr=1.0, eval_goals=100)
    listener = Trackio("pick", config)
    async with FakeEngine() as engine, Run(task, engine, config, listeners=[listener]) as run:
        await run.wait()
    listener.close()
    for version, evaluation in sorted(run.metrics.evaluations.items()):
        print(f"version {version}: {sum(evaluation.scores) / len(evaluation.scores):.2f}")


if __name__ == "__main__":
    asyncio.run(main())
