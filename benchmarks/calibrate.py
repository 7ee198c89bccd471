"""The simulator against reality: the ratio of synchronous to asynchronous wall time, measured and simulated.

python benchmarks/calibrate.py [--devices cpu:0,cpu:1] [--updates 8] [--repetitions 3] [--json FILE]

Real vLLM engines, the pocket policy, WebShop as `aes train` plays it (but with a step size of 0, so that both sides
play the same members). One probe gives the batching curve: episodes played one after the other, so many at once that
every engine's batch has 1, 8 and 64 sequences, against the tokens they come to. Then both sides in turns, recorded; and
the same members and episodes in virtual time, once with every episode's own length and once with lengths drawn from
what the journal tells.
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
from aes.protocols import Policy, Seat
from aes.simulation.lengths import Lengths, Lognormal, Played, Turn, recorded
from aes.simulation.simulate import Outcome, Spec, simulate
from aes.simulation.speed import Curve, Speed
from aes.types import Episode, Member, Sampling, Update
from benchmarks.ground import Ground
from envs.webshop import WebShop

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
    """WebShop that keeps the length of every episode, by (member, seed)."""

    task: WebShop
    episodes: dict[tuple[str, int], Sequence[Turn]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.name, self.fingerprint = self.task.name, self.task.fingerprint
        self.train_goals, self.eval_goals = self.task.train_goals, self.task.eval_goals

    async def play(self, policy: Policy, goal: Any, seed: int) -> Episode:
        episode = await self.task.play(policy, goal, seed)
        if (member := _member.get(None)) is not None:
            name = f"s{member.seed}/{member.sign:+d}"
            self.episodes[name, seed] = _even(episode.turns, episode.tokens)
        return episode


@dataclass(frozen=True)
class Side:
    """One real run."""

    max_lag: int
    seconds: float
    turns: int
    tokens: int
    lags: dict[int, int]
    driver_cpu: float


def _even(turns: int, tokens: int) -> Sequence[Turn]:
    """An episode's tokens over its turns, as even as whole numbers are."""
    return [Turn(0, max(1, tokens * (i + 1) // turns - tokens * i // turns)) for i in range(turns)]


async def probe(task: WebShop, pool: Pool, config: Config, seconds: float) -> Speed:
    """Seconds of a step by batch size, all engines being as busy; whatever a turn costs besides is in it."""
    rates = [await _tokens_a_second(task, pool, config, batch, seconds) for batch in BATCHES]
    began = time.perf_counter()
    await pool.advance(Update(pool.version, ()), (), ())
    update = time.perf_counter() - began
    steps = [(batch, batch * len(pool.devices) / rate) for batch, rate in zip(BATCHES, rates, strict=True)]
    return Speed(Curve(tuple(steps)), update=update)


async def _tokens_a_second(task: WebShop, pool: Pool, config: Config, batch: int, seconds: float) -> float:
    """Of all engines together, while each has `batch` episodes going."""
    told, goals = [0], count()

    async def play_on(seat: Seat) -> None:
        sampling = Sampling(max_tokens=config.max_tokens)
        while True:
            goal = next(goals)
            policy = MemberPolicy(seat, pool.codec, pool.context, sampling)
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
            for task_ in playing:
                task_.cancel()
            await asyncio.gather(*playing, return_exceptions=True)


async def real(task: Noted, pool: Pool, config: Config, folder: Path) -> Side:
    """One run, from its first dispatch to its last update."""
    async with Run(task, pool, config, folder) as run:
        began, cpu = time.perf_counter(), time.process_time()
        await run.wait()
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        metrics = run.metrics
        return Side(config.max_lag, seconds, metrics.turns, metrics.tokens, dict(metrics.lags), cpu)


async def measure(
    devices: Sequence[str], updates: int, repetitions: int, seconds: float, folder: Path
) -> tuple[Config, Speed, list[tuple[Side, Side]], Noted]:
    """Open the engines, warm up, probe, and run both sides in turns."""
    ground = Ground.of(pairs=SLOTS * len(devices) // 2, goals=GOALS, updates=updates, lr=0.0, max_lag=0)
    config, noted = ground.config, Noted(ground.task)
    rounds = []
    async with NotingPool(ground.engines(devices, SLOTS * len(devices), VllmEngine)) as pool:
        await real(noted, pool, config.model_copy(update={"updates": 2}), folder / "warm")
        speed = await probe(ground.task, pool, config, seconds)
        for number in range(repetitions):
            sync = await real(noted, pool, config, folder / f"sync{number}")
            late = await real(noted, pool, config.model_copy(update={"max_lag": 1}), folder / f"async{number}")
            rounds.append((sync, late))
    return config, speed, rounds, noted


def simulated(config: Config, speed: Speed, devices: int, lengths: Lengths, goals: int) -> tuple[Outcome, Outcome]:
    """The same two sides in virtual time."""
    spec = Spec(config, lengths, speed, goals, devices, SLOTS, noise=0.0)
    return simulate(spec), simulate(replace(spec, config=config.model_copy(update={"max_lag": 1})))


def main() -> None:
    parser = argparse.ArgumentParser(description="calibrate the simulator against real engines")
    parser.add_argument("--devices", default="cpu:0,cpu:1")
    parser.add_argument("--updates", type=int, default=8)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--probe-seconds", type=float, default=8.0)
    parser.add_argument("--json", type=Path, default=Path(__file__).parent / "calibration.json")
    given = parser.parse_args()
    devices = given.devices.split(",")
    with tempfile.TemporaryDirectory() as folder:
        config, speed, rounds, noted = asyncio.run(
            measure(devices, given.updates, given.repetitions, given.probe_seconds, Path(folder))
        )
        journal = recorded(Path(folder) / "sync0")
    lengths = {"each its own": Played(noted.episodes), "from the journal": journal}
    result = report(config, speed, rounds, lengths, devices, len(noted.train_goals))
    given.json.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))


def report(
    config: Config,
    speed: Speed,
    rounds: Sequence[tuple[Side, Side]],
    lengths: dict[str, Played | Lognormal],
    devices: Sequence[str],
    goals: int,
) -> dict[str, Any]:
    """Measured and simulated side by side, as plain values."""
    ratios = [sync.seconds / late.seconds for sync, late in rounds]
    ratio = statistics.median(ratios)
    result: dict[str, Any] = {
        "devices": list(devices),
        "config": config.model_dump(mode="json"),
        "step seconds by batch": {str(batch): seconds for batch, seconds in speed.curve.points},
        "update seconds": speed.update,
        "rounds": [[asdict(sync), asdict(late)] for sync, late in rounds],
        "measured": {
            "sync s": statistics.median(sync.seconds for sync, _ in rounds),
            "async s": statistics.median(late.seconds for _, late in rounds),
            "ratio": ratio,
            "ratios": ratios,
        },
    }
    for name, drawn in lengths.items():
        sync, late = simulated(config, speed, len(devices), drawn, goals)
        simulated_ratio = sync.seconds / late.seconds
        result[f"simulated, lengths {name}"] = {
            "sync s": sync.seconds,
            "async s": late.seconds,
            "ratio": simulated_ratio,
            "error of the ratio": simulated_ratio / ratio - 1,
            "within the goal": abs(simulated_ratio / ratio - 1) <= GOAL,
            "lengths": asdict(drawn) if not isinstance(drawn, Played) else f"{len(drawn.episodes)} episodes",
            "lags": late.lags,
        }
    return result


if __name__ == "__main__":
    main()
