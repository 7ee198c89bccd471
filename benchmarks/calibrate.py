"""The simulator against reality: the ratio of synchronous to asynchronous wall time, measured and simulated.

python benchmarks/calibrate.py [--devices cpu:0,cpu:1] [--updates 8] [--repetitions 3] [--json FILE]

Real vLLM engines, the pocket policy, and two tasks: WebShop as `aes train` plays it, whose episodes are at first much
alike, and conversations whose turns have a log-deviation of 1 (`benchmarks/talk.py`). The step size is 0, so that all
runs play the same members. For each task, a probe gives the batching curve: episodes are played one after the other,
so many at once that every engine has 1, 8 and 64 of them, against the tokens that they come to. Then both sides in
turns, recorded; and the same members and goals in virtual time, once with every episode's own length and once with
lengths drawn from what the journal tells.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from aes import Config, Run, noise
from aes.engine.pool import Pool
from aes.engine.vllm import VllmEngine
from aes.policy import MemberPolicy
from aes.protocols import Policy, Seat, Task
from aes.simulation.lengths import Lognormal, Played, Turn, recorded
from aes.simulation.simulate import Spec, simulate
from aes.simulation.speed import Curve, Speed
from aes.types import Episode, Member, Sampling, Update
from benchmarks.ground import Ground
from benchmarks.talk import Talk
from envs.webshop import Catalog

SLOTS, GOALS = 8, 8
BATCHES = (1, 8, 64)
GOAL = 0.15
"""The error of the ratio that is aimed at."""

_member: ContextVar[Member] = ContextVar("member")


class NotingPool(Pool):
    """A pool whose members' plays know whose they are."""

    @asynccontextmanager
    async def seat(self, member: Member) -> AsyncIterator[Seat]:
        async with super().seat(member) as seat:
            _member.set(member)
            yield seat


@dataclass
class Noted:
    """A task that keeps the length of every episode, by (member, seed)."""

    task: Task
    episodes: dict[tuple[str, int], Sequence[Turn]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.name, self.fingerprint = self.task.name, self.task.fingerprint
        self.train_goals, self.eval_goals = self.task.train_goals, self.task.eval_goals

    async def play(self, policy: Policy, goal: Any, seed: int) -> Episode:
        episode = await self.task.play(policy, goal, seed)
        member = _member.get()
        self.episodes[f"s{member.seed}/{member.sign:+d}", seed] = _even(episode.turns, episode.tokens)
        return episode


def _even(turns: int, tokens: int) -> Sequence[Turn]:
    """An episode's tokens over its turns, as even as whole numbers are."""
    return [Turn(0, max(1, tokens * (i + 1) // turns - tokens * i // turns)) for i in range(turns)]


@dataclass(frozen=True)
class Side:
    """One real run, from its first dispatch to its last update."""

    seconds: float
    turns: int
    tokens: int
    lags: dict[int, int]
    driver_cpu: float


@dataclass(frozen=True)
class Case:
    """A task on open engines: what a probe and the runs of both sides have found."""

    name: str
    config: Config
    goals: int
    devices: int
    speed: Speed
    rounds: Sequence[tuple[Side, Side]]
    played: Played
    journal: Lognormal

    def report(self) -> dict[str, Any]:
        """Measured and simulated side by side, as plain values."""
        ratios = [sync.seconds / late.seconds for sync, late in self.rounds]
        return {
            "step seconds by batch": {str(batch): seconds for batch, seconds in self.speed.curve.points},
            "update seconds": self.speed.update,
            "journal": asdict(self.journal),
            "measured": {
                "sync s": statistics.median(sync.seconds for sync, _ in self.rounds),
                "async s": statistics.median(late.seconds for _, late in self.rounds),
                "ratio": statistics.median(ratios),
                "ratios": ratios,
            },
            "simulated, every episode's own length": self._simulated(self.played, statistics.median(ratios)),
            "simulated, lengths from the journal": self._simulated(self.journal, statistics.median(ratios)),
            "rounds": [[asdict(sync), asdict(late)] for sync, late in self.rounds],
        }

    def _simulated(self, lengths: Played | Lognormal, measured: float) -> dict[str, Any]:
        spec = Spec(self.config, lengths, self.speed, self.goals, self.devices, SLOTS, noise=0.0)
        sync, late = simulate(spec), simulate(replace(spec, config=_late(self.config)))
        ratio = sync.seconds / late.seconds
        error = ratio / measured - 1
        told = {"sync s": sync.seconds, "async s": late.seconds, "ratio": ratio, "lags": late.lags}
        return told | {"error of the ratio": error, "within the goal": abs(error) <= GOAL}


def _late(config: Config) -> Config:
    return config.model_copy(update={"max_lag": 1})


async def measure(ground: Ground, devices: Sequence[str], repetitions: int, seconds: float, folder: Path) -> list[Case]:
    """Open the engines once, and look at both tasks on them."""
    talk = Talk.about(Catalog.generate(200), 4.0, 1.0)
    tasks: list[tuple[Task, Config]] = [
        (ground.task, ground.config),
        (talk, ground.config.model_copy(update={"max_tokens": 10})),
    ]
    async with NotingPool(ground.engines(devices, SLOTS * len(devices), VllmEngine)) as pool:
        return [await _case(task, pool, config, repetitions, seconds, folder) for task, config in tasks]


async def _case(task: Task, pool: Pool, config: Config, repetitions: int, seconds: float, folder: Path) -> Case:
    noted, rounds = Noted(task), []
    await _real(noted, pool, config.model_copy(update={"updates": 2}), folder / f"{task.name} warm")
    speed = await _probe(task, pool, config, seconds)
    for number in range(repetitions):
        sides = {0: config, 1: _late(config)}
        order = sorted(sides, reverse=number % 2 == 1)  # who goes first takes turns
        found = {lag: await _real(noted, pool, sides[lag], folder / f"{task.name} {lag} {number}") for lag in order}
        rounds.append((found[0], found[1]))
    journal = recorded(folder / f"{task.name} 0 0")
    goals, played = len(task.train_goals), Played(noted.episodes)
    return Case(task.name, config, goals, len(pool.devices), speed, rounds, played, journal)


async def _real(task: Noted, pool: Pool, config: Config, folder: Path) -> Side:
    async with Run(task, pool, config, folder) as run:
        began, cpu = time.perf_counter(), time.process_time()
        await run.wait()
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        metrics = run.metrics
        return Side(seconds, metrics.turns, metrics.tokens, dict(sorted(metrics.lags.items())), cpu)


async def _probe(task: Task, pool: Pool, config: Config, seconds: float) -> Speed:
    """Seconds of a step by batch size, all engines being as busy; whatever a turn costs besides is in it."""
    rates = [await _tokens_a_second(task, pool, config, batch, seconds) for batch in BATCHES]
    began = time.perf_counter()
    await pool.advance(Update(pool.version, ()), (), ())
    update = time.perf_counter() - began
    steps = [(batch, batch * len(pool.devices) / rate) for batch, rate in zip(BATCHES, rates, strict=True)]
    return Speed(Curve(tuple(steps)), update=update)


async def _tokens_a_second(task: Task, pool: Pool, config: Config, batch: int, seconds: float) -> float:
    """Of all engines together, while each has `batch` episodes going."""
    told, goals = [0], count()

    async def play_on(seat: Seat) -> None:
        while True:
            goal = next(goals)
            policy = MemberPolicy(seat, pool.codec, pool.context, Sampling(max_tokens=config.max_tokens))
            episode = await task.play(policy, task.train_goals[goal % len(task.train_goals)], goal)
            told[0] += episode.tokens

    async with AsyncExitStack() as stack:
        seated = min(batch, SLOTS) * len(pool.devices)
        members = [Member(pool.version, noise.seed_of(batch, i), 1, config.sigma) for i in range(seated)]
        seats = [await stack.enter_async_context(pool.seat(member)) for member in members]
        playing = [asyncio.create_task(play_on(seats[i % seated])) for i in range(batch * len(pool.devices))]
        try:
            await asyncio.sleep(seconds / 4)  # until all are under way
            began, before = time.perf_counter(), told[0]
            await asyncio.sleep(seconds)
            return (told[0] - before) / (time.perf_counter() - began)
        finally:
            for play in playing:
                play.cancel()
            await asyncio.gather(*playing, return_exceptions=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="calibrate the simulator against real engines")
    parser.add_argument("--devices", default="cpu:0,cpu:1")
    parser.add_argument("--updates", type=int, default=8)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--probe-seconds", type=float, default=6.0)
    parser.add_argument("--json", type=Path, default=Path(__file__).parent / "calibration.json")
    given = parser.parse_args()
    devices = given.devices.split(",")
    ground = Ground.of(pairs=SLOTS * len(devices) // 2, goals=GOALS, updates=given.updates, lr=0.0, max_lag=0)
    with tempfile.TemporaryDirectory() as folder:
        cases = asyncio.run(measure(ground, devices, given.repetitions, given.probe_seconds, Path(folder)))
    settings = ground.config.model_dump(mode="json")
    result = {"devices": devices, "config": settings, **{case.name: case.report() for case in cases}}
    given.json.write_text(json.dumps(result, indent=2) + "\n")
    for case in cases:
        told = {key: value for key, value in case.report().items() if key != "rounds"}
        print(case.name, json.dumps(told, indent=2))


if __name__ == "__main__":
    main()
