"""A simulation: the real runtime, in virtual time, on simulated engines."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field

from aes.config import Config
from aes.engine.pool import Pool
from aes.errors import ConfigError
from aes.runtime import Run
from aes.simulation import loop
from aes.simulation.engine import Driver, SharedCentre, SimulatedEngine
from aes.simulation.lengths import Lengths
from aes.simulation.objective import Objective
from aes.simulation.speed import Speed
from aes.simulation.task import SimulatedTask


@dataclass(frozen=True)
class Spec:
    """What is simulated. Of `config`, evaluation and the limits of episodes have no effect.

    Attributes:
        config: the run: pairs, goals, updates, schedule, step size, seed.
        lengths: how long episodes are.
        speed: how fast each device is.
        goals: how many training goals there are to take batches from.
        devices: how many there are.
        slots: members at once on each.
        sequences: requests decoded in one batch, on each.
        driver: seconds that the one driver takes to handle a reply.
        objective: what members are worth.
        noise: standard deviation of an episode's fitness around that.
        by_turn: one request a turn, not two an episode (see `aes.simulation.task`).
    """

    config: Config
    lengths: Lengths
    speed: Speed
    goals: int = 4096
    devices: int = 1
    slots: int = 16
    sequences: int = 256
    driver: float = 0.0
    objective: Objective = field(default_factory=Objective)
    noise: float = 0.1
    by_turn: bool = True

    def __post_init__(self) -> None:
        for name in ("goals", "devices", "slots", "sequences"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} {getattr(self, name)}: at least 1 (raise {name})")
        for name in ("driver", "noise"):
            if getattr(self, name) < 0:
                raise ConfigError(f"{name} {getattr(self, name):g}: no less than 0 (raise {name})")


@dataclass(frozen=True)
class Outcome:
    """What a simulated run came to.

    Attributes:
        seconds: wall time, in virtual seconds.
        episodes, turns, tokens: what was measured (not what was discarded).
        players_idle: share of the players' time without a member to play.
        devices_idle: share of the devices' time without anything to do.
        unused: share of the devices' capacity unused: 1 - tokens / (what full batches would have written meanwhile).
        driver_busy: share of the time that the driver worked.
        lags: realised lag -> measurements consumed at it.
        dropped: proposals given up; discarded: seconds from their dispatch to that.
        start, end: the objective at the first and the last version.
    """

    seconds: float
    episodes: int
    turns: int
    tokens: int
    players_idle: float
    devices_idle: float
    unused: float
    driver_busy: float
    lags: dict[int, int]
    dropped: int
    discarded: float
    start: float
    end: float

    @property
    def episodes_per_second(self) -> float:
        """Throughput."""
        return self.episodes / self.seconds

    @property
    def mean_lag(self) -> float:
        """Mean realised lag in updates."""
        return sum(lag * count for lag, count in self.lags.items()) / sum(self.lags.values())

    @property
    def stale(self) -> float:
        """Share of measurements with a lag of at least 1."""
        return 1 - self.lags.get(0, 0) / sum(self.lags.values())


def simulate(spec: Spec) -> Outcome:
    """Run `spec` to its end in a virtual loop of its own; equal specs give equal outcomes. Not within a running loop.

    Raises ConfigError for settings that contradict each other.
    """
    with _collecting_seldom():
        return loop.run(_simulate(spec))


@contextmanager
def _collecting_seldom() -> Iterator[None]:
    """Thousands of tasks live at once and hardly any of them in cycles: looking for those takes a third of the time."""
    usual = gc.get_threshold()
    gc.set_threshold(50_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


async def _simulate(spec: Spec) -> Outcome:
    centre, driver = SharedCentre(spec.objective), Driver(spec.driver)
    engines = [
        SimulatedEngine(centre, spec.speed, driver, slots=spec.slots, sequences=spec.sequences, name=f"device {number}")
        for number in range(spec.devices)
    ]
    task = SimulatedTask(spec.lengths, spec.goals, spec.noise, by_turn=spec.by_turn)
    nothing_else = {"eval_goals": 0, "eval_every": 0, "episode_seconds": None}
    config = spec.config.model_copy(update=nothing_else)
    start = centre.worth()
    async with AsyncExitStack() as stack:
        pool = await stack.enter_async_context(Pool(engines))
        run = await stack.enter_async_context(Run(task, pool, config))
        await run.wait()
    seconds = asyncio.get_running_loop().time()
    devices = [engine.device for engine in engines]
    full = min(spec.sequences, spec.slots * config.goals)
    fastest = max(batch / spec.speed.curve.seconds(batch) for batch in range(1, full + 1))
    metrics, capacity = run.metrics, spec.devices * seconds
    return Outcome(
        seconds=seconds,
        episodes=metrics.episodes,
        turns=metrics.turns,
        tokens=metrics.tokens,
        players_idle=1 - sum(engine.seated_seconds for engine in engines) / (run.players * seconds),
        devices_idle=1 - sum(device.busy for device in devices) / capacity,
        unused=1 - sum(device.tokens for device in devices) / (capacity * fastest),
        driver_busy=driver.busy / seconds,
        lags=dict(sorted(metrics.lags.items())),
        dropped=metrics.dropped,
        discarded=metrics.wasted_seconds,
        start=start,
        end=centre.worth(),
    )
