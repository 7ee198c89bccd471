"""A user's code against the public names: mypy and pyright must accept it in strict mode. It is checked, never run."""

# pyright: strict

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from aes import (
    AgentTask,
    AskTell,
    AsyncEnvironment,
    ChatTask,
    Choice,
    Completion,
    Config,
    Engine,
    Environment,
    Episode,
    Failure,
    JsonSchema,
    Lora,
    Message,
    Policy,
    Regex,
    Run,
    Task,
)
from aes.engine.fake import FakeEngine
from aes.engine.pool import Pool
from aes.engine.shared import Shared
from aes.events import Evaluated, Event, Listener, Updated
from aes.writers.tensorboard import TensorBoard


class Guess:
    """An environment in Gymnasium's words."""

    def __init__(self, goal: int) -> None:
        self.goal = goal

    def reset(self, *, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        return "guess[1] guess[2]", {}

    def step(self, text: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        return "", float(text == f"guess[{self.goal}]"), True, False, {"success": True}


class Far:
    """An environment that is waited for."""

    def __init__(self, goal: int) -> None:
        self.near = Guess(goal)

    async def reset(self, *, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        return self.near.reset(seed=seed)

    async def step(self, text: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        return self.near.step(text)


class Agent:
    """A task with a loop of its own."""

    name = "agent"
    train_goals: Sequence[str] = ("a", "b")
    eval_goals: Sequence[str] = ("c",)
    fingerprint: Mapping[str, str] = {"prompt": "1"}

    async def play(self, policy: Policy, goal: Any, seed: int) -> Episode:
        messages: list[Message] = [{"role": "user", "content": str(goal)}]
        reply: Completion = await policy.complete(messages, max_tokens=8, temperature=0.5, seed=seed, stop=["\n"])
        if not reply.text:
            return Episode(fitness=0.0, success=False, turns=1, tokens=0, failure=Failure("environment", "no words"))
        return Episode(fitness=float(goal in reply.text), success=True, turns=1, tokens=len(reply.token_ids))


async def ask(policy: Policy, goal: str, seed: int) -> float:
    """An agent that is a function."""
    messages: list[Message] = [{"role": "user", "content": goal}]
    word = await policy.complete(messages, structured=Choice(("yes", "no")))
    number = await policy.complete(messages, structured=Regex("[0-9]+"), tools=[{"type": "function"}])
    thing = await policy.complete(messages, structured=JsonSchema({"type": "object"}))
    return float(word.text == number.text == thing.text)


def block(policy: Policy, goal: str, seed: int) -> Episode:
    """An agent that blocks, and would talk to an endpoint."""
    return Episode(fitness=float(len(policy.base_url) + len(policy.api_key)), success=True)


def search() -> int:
    """Ask and tell."""
    asked = AskTell(Config(updates=2, pairs=2), goals=3)
    while (pair := asked.ask()) is not None:
        if asked.tell(pair, [float(member.sign) for member in pair.members]) == "too old":
            asked.give_up(pair)
    return sum(len(update.terms) for update in asked.updates) + len(asked.keep)


def goal_of(event: Event) -> float:
    match event:
        case Updated(fitness=fitness):
            return fitness
        case Evaluated(scores=scores):
            return sum(scores)
        case _:
            return 0.0


async def main(folder: Path) -> Mapping[str, Any]:
    environment: Environment = Guess(1)
    waiting: AsyncEnvironment = Far(1)
    tasks: list[Task] = [ChatTask("guess", Guess, range(1, 3), range(1, 3), system="Guess."), Agent()]
    tasks.append(ChatTask("far", Far, range(1, 3), range(1, 3)))
    tasks += [AgentTask("ask", ask, ("a", "b"), ("c",)), AgentTask("block", block, ("a",), ("b",), {"rules": "1"})]
    config = Config(updates=2, pairs=2, goals=1, eval_goals=1, max_lag=1, stale_frac=0.5)
    settings = Lora.parse({"rank": 4, "targets": ("q_proj",)})
    engines: list[Engine] = [FakeEngine(), FakeEngine(latency=lambda member, length: 0.1 * member.sign)]
    environment.reset(seed=1)
    await waiting.reset(seed=1)
    heard: list[Event] = []
    with TensorBoard(folder / "tensorboard") as board:
        listeners: list[Listener] = [heard.append, board]
        async with Pool(engines) as engine, Run(tasks[0], engine, config, folder, settings, listeners=listeners) as run:
            async for event in run:
                print(goal_of(event), run.metrics.fitness)
                if run.best is not None and run.best.score > 0.5:
                    await run.export(run.best.version, folder / "best")
            await run.wait()
    async with Shared(FakeEngine()) as shared, shared.part() as one, Run(tasks[1], one, config) as other:
        await other.wait()
    return run.summary()
