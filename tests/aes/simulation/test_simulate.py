"""Whole simulations: the real runtime on simulated devices, and the laws that hold whatever the sizes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aes import Config
from aes.errors import ConfigError
from aes.simulation.lengths import Lognormal
from aes.simulation.objective import Objective
from aes.simulation.simulate import Outcome, Spec, simulate
from aes.simulation.speed import Curve, Speed

SPEED = Speed(Curve.linear(0.02, 0.0005), prefill=1e-5, build=0.01, update=0.05)


def spec(spread: float = 0.7, max_lag: int = 0, **changes: Any) -> Spec:
    config = Config.parse({"pairs": 8, "goals": 4, "updates": 4, "sigma": 0.1, "lr": 0.3, "max_lag": max_lag})
    return replace(Spec(config, Lognormal(4, 20, spread, prompt=50), SPEED, devices=2, slots=8), **changes)


def late(one: Spec, max_lag: int = 1, **changes: Any) -> Spec:
    return replace(one, config=one.config.model_copy(update={"max_lag": max_lag, **changes}))


def test_equal_specs_give_equal_outcomes() -> None:
    one = late(spec())
    assert simulate(one) == simulate(one)
    assert simulate(one) != simulate(late(one, seed=1))


@settings(max_examples=10)
@given(
    devices=st.integers(1, 4),
    slots=st.integers(1, 6),
    sequences=st.integers(1, 20),
    max_lag=st.integers(0, 3),
    spread=st.floats(0, 1.5),
)
def test_laws_of_any_size(devices: int, slots: int, sequences: int, max_lag: int, spread: float) -> None:
    """All is played once, the lag keeps its bound, and no device is faster than full batches from start to end."""
    one = late(spec(spread, devices=devices, slots=slots, sequences=sequences), max_lag)
    outcome = simulate(one)
    assert outcome.episodes == 2 * 8 * 4 * 4
    assert sum(outcome.lags.values()) == 8 * 4
    assert set(outcome.lags) <= set(range(max_lag + 1))
    shares = (outcome.players_idle, outcome.devices_idle, outcome.unused, outcome.driver_busy)
    assert all(-1e-9 <= share <= 1 for share in shares)
    assert outcome.seconds >= outcome.turns * one.driver


def test_synchronous_has_no_lag_and_asynchronous_plays_the_very_same_episodes() -> None:
    sync, later = simulate(spec()), simulate(late(spec()))
    assert (sync.lags, sync.stale, sync.mean_lag) == ({0: 32}, 0.0, 0.0)
    assert later.stale > 0.3
    assert (sync.episodes, sync.turns, sync.tokens) == (later.episodes, later.turns, later.tokens)


def test_asynchrony_gains_with_the_spread_and_nothing_without() -> None:
    ratios = []
    for spread in (0.0, 0.5, 1.0):
        sync, later = simulate(spec(spread)), simulate(late(spec(spread)))
        ratios.append(sync.seconds / later.seconds)
        assert later.players_idle <= sync.players_idle
    assert ratios[0] == pytest.approx(1.0, abs=0.05)
    assert ratios[1] > 1.15
    assert ratios[2] > 1.3


def test_with_steps_of_one_length_the_makespan_is_at_least_the_work_over_the_capacity() -> None:
    one = late(spec(speed=Speed(Curve.linear(0.1, 0.0)), sequences=4))
    outcome = simulate(one)
    assert outcome.seconds >= outcome.tokens * 0.1 / (2 * 4)
    assert outcome.unused == pytest.approx(1 - outcome.tokens * 0.1 / (2 * 4) / outcome.seconds)


def test_a_slow_driver_is_the_bottleneck() -> None:
    outcome = simulate(late(spec(driver=0.1)))
    assert outcome.seconds >= outcome.turns * 0.1
    assert outcome.driver_busy > 0.9


def test_requests_of_whole_episodes_take_nearly_as_long() -> None:
    turns, episodes = simulate(late(spec())), simulate(late(spec(by_turn=False)))
    assert episodes.tokens == turns.tokens
    assert episodes.seconds == pytest.approx(turns.seconds, rel=0.05)


def test_stragglers_are_dropped_and_counted() -> None:
    outcome = simulate(late(spec(1.5), on_stale="drop"))
    assert outcome.dropped > 0
    assert outcome.discarded > 0
    assert outcome.seconds < simulate(late(spec(1.5))).seconds


@pytest.mark.parametrize("ripples", [0.0, 0.3])
def test_it_learns_under_staleness(ripples: float) -> None:
    def end(**changes: Any) -> Outcome:
        return simulate(late(spec(objective=Objective(16, ripples), by_turn=False), updates=24, **changes))

    for outcome in (end(max_lag=0), end(max_lag=4, stale_frac=1.0)):
        assert outcome.start == pytest.approx(0.0, abs=1e-6)
        assert outcome.end > 0.4
    assert end(max_lag=0, lr=0.0).end == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("wrong", [{"devices": 0}, {"slots": 0}, {"sequences": 0}, {"driver": -1.0}, {"noise": -1.0}])
def test_sizes_that_cannot_be(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        spec(**wrong)
