"""An agent written against the OpenAI client, trained as it is: only its base_url is the member's.

`agent` is somebody else's code and knows nothing of aes. One client serves all episodes (`with_options` is cheap,
a client of one's own is not). On the fake engine, in seconds (pip install openai):

    python examples/openai_agent.py
"""

from __future__ import annotations

import asyncio

from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionMessageParam

from aes import AgentTask, Config, Policy, Run
from aes.engine.fake import FakeEngine

ROOMS = ["send[cough clinic]", "send[fever ward]", "send[cut surgery]"]


async def agent(client: AsyncOpenAI, complaint: str) -> str:
    """Ask the model where to send somebody, and once more if there is no such room."""
    messages: list[ChatCompletionMessageParam] = [
        {"role": "system", "content": "You are the nurse at the door."},
        {"role": "user", "content": f"My {complaint} hurts.\n{' '.join(ROOMS)}"},
    ]
    for _ in range(2):
        reply = await client.chat.completions.create(model="gpt-4o-mini", messages=messages, temperature=0)
        room = (reply.choices[0].message.content or "").strip()
        if room in ROOMS:
            break
        messages.append({"role": "user", "content": "Choose one of them."})
    return room


async def main() -> None:
    complaints = ["cough", "fever", "cut"]
    async with AsyncOpenAI(api_key="unused", base_url="http://unused") as client:

        async def play(policy: Policy, goal: int, seed: int) -> float:
            complaint = complaints[goal % 3]
            room = await agent(client.with_options(base_url=policy.base_url), complaint)
            return float(complaint in room)

        task = AgentTask("nurse", play, train_goals=range(60), eval_goals=range(60, 75))
        config = Config(updates=6, pairs=8, goals=6, sigma=1.0, lr=1.0, max_lag=0, eval_every=3, eval_goals=15)
        async with FakeEngine() as engine, Run(task, engine, config) as run:
            await run.wait()
    for evaluation in run.summary()["evaluations"]:
        print(f"version {evaluation['version']}: score {evaluation['score']:.2f}")


if __name__ == "__main__":
    asyncio.run(main())
