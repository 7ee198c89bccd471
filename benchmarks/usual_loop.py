"""Against the usual ES loop: episodes a second of aes over those of one perturbed policy at a time.

The usual loop, as ES at scale (arXiv 2509.24372) and the first code of arXiv 2610.04196 are described: for each member
the weights of the engine are perturbed in place (all parameters, no adapters), all its goals are played in one batch
turn by turn, the weights are restored, and when every member has been measured an update is made: a barrier. Both sides
have the same vLLM, task, goals a member and members an update, each on an engine of its own that is open all the time;
they take turns. The usual loop does the same thing member after member, so one update of it tells its rate.

Once with the pocket policy and WebShop, and once with a random model in SmolLM2-135M's shape (30 layers, 576 wide,
49,152 words), whose replies mean nothing: there episodes have a fixed number of turns and tokens, and speed alone is
measured.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from aes import noise
from aes.config import Lora
from aes.engine.model import BaseModel
from aes.engine.pool import Pool
from aes.engine.vllm import VllmEngine
from aes.policy import MemberPolicy
from aes.protocols import Task
from aes.together import together
from aes.types import Episode, Sampling
from benchmarks.ground import Ground, Stretch, stretch
from benchmarks.in_place import InPlaceEngine, Lockstep
from benchmarks.measure import Effort, Figure
from benchmarks.models import SMOLLM2, make_llama
from benchmarks.talk import Talk

GOAL = 3.0
SIGMA, LR = 0.001, 0.0005
"""ES at scale's, for all parameters."""


@dataclass(frozen=True)
class Usual:
    """What one update of the usual loop took: of its seconds, those in which weights were changed."""

    seconds: float
    perturbing: float
    episodes: Sequence[Episode]

    @property
    def rate(self) -> float:
        """Episodes a second."""
        return len(self.episodes) / self.seconds

    @property
    def turns(self) -> int:
        """Turns of all episodes."""
        return sum(episode.turns for episode in self.episodes)


@dataclass(frozen=True)
class Case:
    """A model and its task; `pairs` are what the usual loop plays for one update, enough to tell its rate."""

    name: str
    ground: Ground
    task: Task
    slots: int
    pairs: int
    goal: float | None


def figures(effort: Effort) -> list[Figure]:
    """The pocket policy, then the shape of SmolLM2."""
    pocket = Ground.of(updates=2, pairs=16, goals=16)
    cases = [Case("pocket policy, WebShop", pocket, pocket.task, 16, 2 if effort.quick else 8, GOAL)]
    found = asyncio.run(_figures(cases[0], effort))
    if effort.quick:
        return found
    with tempfile.TemporaryDirectory() as folder:
        make_llama(Path(pocket.model.name), Path(folder), layers=30, vocabulary=SMOLLM2)
        return found + asyncio.run(_figures(_smol(pocket, folder), effort))


def _smol(pocket: Ground, folder: str) -> Case:
    """Adapters of rank 16 on every linear layer, as aes has them for instruct models."""
    config = pocket.config.model_copy(update={"updates": 2, "pairs": 4, "goals": 3, "max_tokens": 12, "sigma": 0.01})
    ground = replace(pocket, model=BaseModel.inspect(folder), config=config, lora=Lora(rank=16))
    talk = Talk([goal.instruction for goal in pocket.task.train_goals], turns=2, spread=0.0)
    return Case("SmolLM2's shape, fixed lengths", ground, talk, 8, 1, None)


async def _figures(case: Case, effort: Effort) -> list[Figure]:
    ours: list[Stretch] = []
    usual: list[Usual] = []
    (engine,) = case.ground.engines(("cpu",), case.slots, VllmEngine)
    (other,) = case.ground.engines(("cpu",), case.slots, InPlaceEngine)
    async with Pool([engine]) as pool, other:
        await other.check()
        warm = case.ground.config.model_copy(update={"updates": 1, "pairs": 2})
        await stretch(case.task, pool, warm)
        for update in range(effort.repetitions):
            ours.append(await stretch(case.task, pool, case.ground.config))
            usual.append(await _update(case, other, update))
    return [_figure(case, ours, usual)]


def _figure(case: Case, ours: Sequence[Stretch], usual: Sequence[Usual]) -> Figure:
    count = len(ours)
    ratios = [mine.episodes / mine.seconds / theirs.rate for mine, theirs in zip(ours, usual, strict=True)]
    detail = {
        "aes ep/s": sum(mine.episodes / mine.seconds for mine in ours) / count,
        "usual ep/s": sum(theirs.rate for theirs in usual) / count,
        "aes turns/ep": sum(mine.turns for mine in ours) / sum(mine.episodes for mine in ours),
        "usual turns/ep": sum(theirs.turns for theirs in usual) / sum(len(theirs.episodes) for theirs in usual),
        "usual share of time in weights": sum(theirs.perturbing / theirs.seconds for theirs in usual) / count,
        "usual parameters": case.ground.model.parameters,
        "ratio if weights took no time": sum(
            ratio * (1 - theirs.perturbing / theirs.seconds) for ratio, theirs in zip(ratios, usual, strict=True)
        )
        / count,
    }
    return Figure(f"aes / usual loop, {case.name}", "x", ratios, detail, "higher", case.goal)


async def _update(case: Case, engine: InPlaceEngine, update: int) -> Usual:
    """One update of the usual loop."""
    config = case.ground.config
    began, perturbed = time.perf_counter(), engine.perturbing
    episodes, seeds, coefficients = list[Episode](), list[int](), list[float]()
    for pair in range(case.pairs):
        seed = noise.seed_of(update, pair)
        goals = [(update * case.pairs + pair) * config.goals + goal for goal in range(config.goals)]
        for sign in (1, -1):
            async with engine.perturbed(seed, sign * SIGMA):
                played = await _play(case, engine, goals)
            episodes += played
            seeds.append(seed)
            coefficients.append(sign * LR / (2 * case.pairs) * sum(episode.fitness for episode in played))
    await engine.add(seeds, coefficients)
    return Usual(time.perf_counter() - began, engine.perturbing - perturbed, episodes)


async def _play(case: Case, engine: InPlaceEngine, goals: Sequence[int]) -> list[Episode]:
    """All goals of a member at once, each turn when all have come to it."""
    seat = engine.lockstep(len(goals))
    return await together(_episode(case, engine, seat, goal) for goal in goals)


async def _episode(case: Case, engine: InPlaceEngine, seat: Lockstep, goal: int) -> Episode:
    goals = case.task.train_goals
    policy = MemberPolicy(seat, engine.codec, engine.context, Sampling(max_tokens=case.ground.config.max_tokens))
    try:
        return await case.task.play(policy, goals[goal % len(goals)], goal)
    finally:
        seat.ended()
