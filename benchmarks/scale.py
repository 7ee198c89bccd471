"""A run at scale: the arithmetic of `aes.simulation.scale` as a table, and the simulator beside it.

python benchmarks/scale.py [--updates 3]

Eight GPUs with Qwen2.5-7B and adapters of rank 32, 30 and 256 pairs; then ten times the GPUs, and ten times the pairs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from aes import Config
from aes.simulation.lengths import Lognormal
from aes.simulation.scale import H100, QWEN_7B, Load, Reckoning
from aes.simulation.simulate import Spec, simulate

LOADS = (Load(30), Load(256), Load(256, devices=80), Load(2560, devices=80))
SPREAD = 0.5
LARGE = 1000
"""Pairs above which two updates must do: one of 2,560 pairs is half a million turns."""

LINES: dict[str, Callable[[Reckoning], str]] = {
    "GPUs": lambda r: f"{r.load.devices}",
    "pairs an update": lambda r: f"{r.load.pairs:,}",
    "episodes an update": lambda r: f"{r.episodes:,}",
    "tokens written an update": lambda r: f"{r.decoded / 1e6:.2f} M",
    "tokens read an update": lambda r: f"{r.prefilled / 1e6:.2f} M",
    "members on a GPU": lambda r: f"{r.members:.1f}",
    "sequences in a batch": lambda r: f"{r.batch}",
    "KV cache of a full batch": lambda r: f"{r.kv / 1e9:.1f} GB",
    "room for it": lambda r: f"{r.room / 1e9:.1f} GB",
    "base model": lambda r: f"{r.weights / 1e9:.1f} GB",
    "adapter slots": lambda r: f"{r.adapters / 1e9:.2f} GB",
    "versions of the centre": lambda r: f"{r.centre / 1e9:.2f} GB",
    "step of one sequence": lambda r: f"{r.step(1) * 1e3:.1f} ms",
    "step of a full batch": lambda r: f"{r.step(r.batch) * 1e3:.1f} ms",
    "a prompt token": lambda r: f"{r.prefill * 1e6:.0f} µs",
    "building a member": lambda r: f"{r.build * 1e3:.1f} ms",
    "applying an update": lambda r: f"{r.update:.2f} s",
    "least time of an update": lambda r: f"{r.floor:.1f} s",
    "turns a second then": lambda r: f"{r.turns_per_second:,.0f}",
    "cores that the driver needs then": lambda r: f"{r.driver_share:.2f}",
}


def main() -> None:
    parser = argparse.ArgumentParser(description="a run at scale, by arithmetic and by simulation")
    parser.add_argument("--updates", type=int, default=3)
    updates = parser.parse_args().updates
    reckonings = [Reckoning(QWEN_7B, H100, load) for load in LOADS]
    for name, line in LINES.items():
        print("|", " | ".join([name, *map(line, reckonings)]), "|")
    print()
    for reckoning in reckonings:
        fewer = min(updates, 2) if reckoning.load.pairs > LARGE else updates
        print("|", " | ".join(_simulated(reckoning, fewer)), "|", flush=True)


def _simulated(reckoning: Reckoning, updates: int) -> list[str]:
    """GPUs, pairs; seconds an update, sync and async; speed-up; share of the least time; unused; driver; lag; stale."""
    load = reckoning.load
    lengths = Lognormal(
        load.turns, load.reply, SPREAD, round((load.first_prompt + (load.turns - 1) * load.prompt) / load.turns)
    )
    config = Config(pairs=load.pairs, goals=load.goals, updates=updates, max_lag=0, sigma=0.1, lr=0.3)
    spec = Spec(
        config,
        lengths,
        reckoning.speed,
        devices=load.devices,
        slots=load.slots,
        sequences=load.sequences,
        driver=load.driver_us * 1e-6,
    )
    sync = simulate(spec)
    late = simulate(replace(spec, config=config.model_copy(update={"max_lag": load.max_lag})))
    return [
        f"{load.devices}",
        f"{load.pairs:,}",
        f"{sync.seconds / updates:.1f} s",
        f"{late.seconds / updates:.1f} s",
        f"{sync.seconds / late.seconds:.2f}x",
        f"{reckoning.floor * updates / late.seconds:.0%}",
        f"{sync.players_idle:.0%} / {late.players_idle:.0%}",
        f"{sync.driver_busy:.0%} / {late.driver_busy:.0%}",
        f"{late.mean_lag:.2f}",
    ]


if __name__ == "__main__":
    main()
