"""Episode lengths: means and spreads as asked for, the same for one member and seed, and read back from a journal."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import pytest

from aes import Run
from aes.engine.pool import Pool
from aes.errors import ConfigError, DataError
from aes.simulation.engine import Driver, SharedCentre, SimulatedEngine
from aes.simulation.lengths import Lengths, Lognormal, Played, Turn, recorded
from aes.simulation.objective import Objective
from aes.simulation.speed import Curve, Speed
from aes.simulation.task import SimulatedTask
from tests.aes.runs import config


@pytest.mark.parametrize("spread", [0.0, 0.3, 1.0])
def test_means_and_spread_are_as_asked_for(spread: float) -> None:
    lengths = Lognormal(turns=20, tokens=60, spread=spread, max_turns=10_000)
    episodes = [lengths.draw("m", seed) for seed in range(3000)]
    turns = [len(episode) for episode in episodes]
    tokens = [turn.reply for episode in episodes[:300] for turn in episode]
    assert statistics.mean(turns) == pytest.approx(20, rel=0.06)
    assert statistics.mean(tokens) == pytest.approx(60, rel=0.06)
    assert statistics.pstdev(turns) / 20 == pytest.approx(spread, abs=0.12)


def test_an_episode_is_the_same_whenever_it_is_asked_for() -> None:
    lengths = Lognormal(5, 50, 0.5, prompt=7)
    assert lengths.draw("m", 3) == lengths.draw("m", 3)
    assert lengths.draw("m", 3) != lengths.draw("n", 3)
    assert all(turn.prompt == 7 for turn in lengths.draw("m", 3))


def test_no_spread_is_no_spread() -> None:
    assert {tuple(Lognormal(4, 30).draw("m", seed)) for seed in range(50)} == {((0, 30),) * 4}


def test_no_episode_is_longer_than_it_may_be() -> None:
    lengths = Lognormal(5, 50, 2.0, max_turns=8)
    assert max(len(lengths.draw("m", seed)) for seed in range(500)) == 8


@pytest.mark.parametrize(
    "wrong",
    [{"turns": 0.5}, {"turns": 60.0}, {"tokens": 0.0}, {"spread": -1.0}, {"spread": float("nan")}, {"prompt": -1}],
)
def test_lengths_that_cannot_be(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        Lognormal(**({"turns": 5.0, "tokens": 50.0} | wrong))


def test_played_episodes_are_played_again() -> None:
    episode = (Turn(1, 2), Turn(3, 4))
    assert Played({("m", 1): episode}).draw("m", 1) == episode


async def play(lengths: Lengths, folder: Path) -> None:
    engine = SimulatedEngine(
        SharedCentre(Objective()), Speed(Curve.linear(0.01, 0.001)), Driver(0.0), slots=16, sequences=64
    )
    settings = config(pairs=16, goals=8, updates=6, eval_goals=0, eval_every=0)
    async with Pool([engine]) as pool, Run(SimulatedTask(lengths, 5000), pool, settings, folder) as run:
        await run.wait()


@pytest.mark.parametrize("spread", [0.0, 0.5])
def test_a_journal_gives_back_what_it_was_played_with(virtual: Any, tmp_path: Path, spread: float) -> None:
    virtual(play(Lognormal(10, 40, spread), tmp_path / "run"))
    found = recorded(tmp_path / "run", prompt=9)
    assert found.turns == pytest.approx(10, rel=0.1)
    assert found.tokens == pytest.approx(40, rel=0.1)
    assert found.spread == pytest.approx(spread, abs=0.1)
    assert found.prompt == 9


def test_a_folder_that_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no journal"):
        recorded(tmp_path)
