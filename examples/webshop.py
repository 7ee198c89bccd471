"""WebShop inside your own program: the task, an engine, a run, and what happens in it as events.

python examples/webshop.py
"""

from __future__ import annotations

import asyncio

from aes import Config, Run
from aes.engine.fake import FakeEngine
from aes.events import Evaluated, Updated
from envs.webshop import WebShop
from envs.webshop.catalog.catalog import Catalog


async def main() -> None:
    task = WebShop(await asyncio.to_thread(Catalog.generate, 200))
    config = Config(updates=6, pairs=8, goals=4, sigma=1.0, lr=1.0, eval_every=3, eval_goals=40, max_tokens=1024)
    async with FakeEngine() as engine, Run(task, engine, config) as run:
        async for event in run:
            match event:
                case Updated(fitness=fitness, lags=lags):
                    print(
                        f"update {run.metrics.version}: fitness {fitness:.2f}, measured up to {max(lags)} updates ago"
                    )
                case Evaluated(version=version, scores=scores):
                    print(f"version {version}: score {sum(scores) / len(scores):.2f}")


if __name__ == "__main__":
    asyncio.run(main())
