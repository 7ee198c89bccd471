"""An agent with a calculator: it learns to use it before it answers, and to stop when it has the result.

Ten lines of agent (`play`), and a tool that is plain Python. On the fake engine, in a second:

    python examples/calculator.py
"""

from __future__ import annotations

import asyncio
import random
import re

from aes import AgentTask, Config, Episode, Message, Policy, Run
from aes.engine.fake import FakeEngine

TURNS = 4


def problem(goal: int) -> tuple[int, int, int]:
    draw = random.Random(goal)
    return draw.randint(2, 99), draw.randint(2, 99), draw.randint(2, 99)


def calculate(expression: str) -> str:
    """The tool: a * b + c, of whole numbers."""
    match = re.fullmatch(r"(\d+) \* (\d+) \+ (\d+)", expression.strip())
    return str(int(match[1]) * int(match[2]) + int(match[3])) if match else "this calculator knows a * b + c"


async def play(policy: Policy, goal: int, seed: int) -> Episode:
    a, b, c = problem(goal)
    question = f"{a} * {b} + {c}"
    guess = random.Random(seed).randint(100, 9999)
    shown = f"What is {question}?\nfirst guess: {guess}\nReply with calculate[{question}] or answer[<number>]"
    messages: list[Message] = [{"role": "user", "content": shown}]
    for turn in range(1, TURNS + 1):
        reply = await policy.complete(messages, stop=["]"])
        messages.append({"role": "assistant", "content": reply.text})
        verb, _, argument = reply.text.strip().removesuffix("]").partition("[")
        if verb == "answer":
            right = argument == str(a * b + c)
            return Episode(fitness=right * (1 - 0.1 * turn), success=right, transcript=tuple(messages))
        shown = f"result: {calculate(argument)}\nReply with calculate[{question}] or answer[<number>]"
        messages.append({"role": "user", "content": shown})
    return Episode(fitness=0.0, success=False, transcript=tuple(messages))


def task() -> AgentTask:
    """For the command line: aes train --task calculator:task --engine fake (in this folder)."""
    return AgentTask("calculator", play, train_goals=range(200), eval_goals=range(200, 250))


async def main() -> None:
    config = Config(updates=8, pairs=8, goals=8, sigma=1.0, lr=1.0, eval_every=4, eval_goals=50, max_tokens=64)
    async with FakeEngine() as engine, Run(task(), engine, config) as run:
        await run.wait()
    for evaluation in run.summary()["evaluations"]:
        print(f"version {evaluation['version']}: score {evaluation['score']:.2f}, right {evaluation['success']:.0%}")


if __name__ == "__main__":
    asyncio.run(main())
