"""Which arms a grid has, and which grids can't be."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aes import Config
from aes.errors import ConfigError
from aes.study import Arm, Grid

COMMON = Config(updates=20, pairs=8)
NOTHING = {"natural": (), "lags": (), "stress": False}


def names(grid: Grid, common: Config = COMMON) -> list[str]:
    return [arm.name for arm in grid.arms(common)]


def test_the_grid_of_the_study() -> None:
    assert names(Grid()) == [
        *("sync", "natural-1", "natural-4"),
        *(f"lag-{lag}-frac-{frac}" for lag in (1, 2, 4, 8) for frac in ("0.25", "0.5", "1")),
        *("all-stale-16", "frozen-4"),
    ]


def test_every_arm_is_run_with_each_estimator_and_natural_ones_with_each_way_out() -> None:
    grid = Grid(lags=(), natural=(2,), stress=False, estimators=("pairs", "zscore"), on_stale=("wait", "drop"))
    assert names(grid) == [
        *("sync", "natural-2", "natural-2-drop"),
        *("sync-zscore", "natural-2-zscore", "natural-2-drop-zscore"),
    ]


@pytest.mark.parametrize(
    ("arm", "schedule"),
    [
        (Arm("synchronous"), "synchronous"),
        (Arm("natural", lag=4, on_stale="drop"), "natural, lag <= 4, stragglers: drop"),
        (Arm("controlled", lag=2, frac=0.25), "controlled, 25% of measurements at lag 2"),
        (Arm("all-stale", lag=16), "controlled, 100% of measurements at lag 16"),
        (Arm("frozen", lag=3), "frozen, blocks of 4 updates from one centre"),
    ],
)
def test_an_arm_decides_on_the_schedule_and_nothing_else(arm: Arm, schedule: str) -> None:
    config = arm.config(Config(updates=20, max_lag=7, stale_frac=0.5, sigma=0.3), 5)
    assert (config.schedule_name, config.seed, config.sigma) == (schedule, 5, 0.3)


@given(
    st.lists(st.integers(1, 9), unique=True, max_size=4),
    st.sampled_from([(), (0.25,), (0.5, 0.25), (1.0, 0.5, 0.25)]),
    st.booleans(),
)
def test_no_two_arms_share_a_name_or_settings(lags: list[int], fracs: tuple[float, ...], stress: bool) -> None:
    grid = Grid(lags=tuple(lags) if fracs else (), fracs=fracs, stress=stress, estimators=("pairs", "zscore"))
    arms = grid.arms(COMMON)
    assert len({arm.name for arm in arms}) == len(arms)
    assert len({str(arm.changes) for arm in arms}) == len(arms)


def test_a_merged_grid_has_what_either_has() -> None:
    one = Grid.parse({**NOTHING, "lags": (4,), "fracs": (1.0,), "seeds": 2})
    other = Grid.parse({**NOTHING, "natural": (1,), "lags": (2,), "fracs": (0.5,), "stress": True, "seeds": 1})
    both = one.merged(other)
    assert (both.lags, both.fracs, both.natural, both.stress, both.seeds) == ((2, 4), (0.5, 1.0), (1,), True, 2)
    assert one.merged(Grid.parse({**NOTHING, "fracs": (0.25,)})).fracs == (1.0,)  # shares of no lag are none
    assert both.merged(one) == both.merged(other) == both


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"lags": (4,), "fracs": ()}, "lags 4 without fracs: how many measurements are stale?"),
        ({"lags": (4,), "fracs": (0.0, 1.0)}, "fracs 0: with a lag, some measurements must be stale"),
        ({"fracs": (1.5,)}, "fracs 1.5: more stale measurements than an update has"),
        ({"lags": (0, 1)}, "lags 0: nothing is stale without a lag"),
        ({"natural": (0,)}, "natural 0: below 1 it is the synchronous arm"),
        ({"seeds": 0}, "seeds = 0"),
        ({"estimators": ()}, "estimators"),
        ({"estimators": ("median",)}, "'median'"),
    ],
)
def test_an_impossible_grid_is_one_line(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as error:
        Grid.parse(values)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"fracs": (0.05,)}, "fracs 0.05: of 8 measurements an update that is none (raise fracs or pairs)"),
        ({"fracs": (0.5, 0.52)}, "fracs 0.5 and 0.52: both are 4 of 8 measurements"),
        ({"lags": (20,)}, "lags 20: 20 updates never reach it"),
    ],
)
def test_a_grid_that_does_not_fit_the_settings_is_one_line(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as error:
        Grid.parse(values).arms(COMMON)
    assert said in str(error.value)


def test_stress_needs_updates_enough() -> None:
    with pytest.raises(ConfigError, match=r"16 updates never reach lag 16 \(raise updates above 16, or .* --no-stress"):
        Grid(lags=()).arms(Config(updates=16))
