"""Train an agent of your own, written as plain asyncio code around `policy.complete`: two tries, its own reward.

python examples/own_agent.py
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from aes import Config, Episode, Message, Policy, Run
from aes.engine.fake import FakeEngine

PLACES = ["shelf", "drawer", "box", "bag"]


class HideAndSeek:
    """The key is always in the same place for a room; the agent may look twice."""

    name = "hide-and-seek"
    train_goals: Sequence[Any] = range(40)
    eval_goals: Sequence[Any] = range(40, 60)
    fingerprint: Mapping[str, str] = {"rooms": "60"}

    async def play(self, policy: Policy, goal: Any, seed: int) -> Episode:
        hidden = PLACES[goal % 2]
        messages: list[Message] = [{"role": "user", "content": " ".join(f"look[{place}]" for place in PLACES)}]
        for turn in (1, 2):
            reply = await policy.complete(messages)
            if reply.text == f"look[{hidden}]":
                return Episode(fitness=1.0 / turn, success=True, turns=turn, tokens=len(reply.token_ids))
            messages += [
                {"role": "assistant", "content": reply.text},
                {"role": "user", "content": "Not there. " + " ".join(f"look[{place}]" for place in PLACES)},
            ]
        return Episode(fitness=0.0, success=False, turns=2, tokens=0)


async def main() -> None:
    config = Config(updates=15, pairs=8, goals=8, sigma=1.0, lr=1.0, eval_goals=20)
    async with FakeEngine() as engine, Run(HideAndSeek(), engine, config) as run:
        await run.wait()
    for evaluation in run.summary()["evaluations"]:
        print(f"version {evaluation['version']}: score {evaluation['score']:.2f}, success {evaluation['success']:.0%}")


if __name__ == "__main__":
    asyncio.run(main())
