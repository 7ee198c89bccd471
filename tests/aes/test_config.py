"""Settings: what is refused and how it is said, and what is derived."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aes import Config, Lora
from aes.config import nearest
from aes.errors import ConfigError, UsageError


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"pair": 3}, ["'pair'", "did you mean 'pairs'"]),
        ({"on_stall": "drop"}, ["'on_stall'", "did you mean 'on_stale'"]),
        ({"zzz": 1}, ["unknown setting 'zzz'"]),
        ({"pairs": 1}, ["pairs = 1", "greater than or equal to 2"]),
        ({"sigma": 0}, ["sigma = 0", "greater than 0"]),
        ({"sigma": float("inf")}, ["sigma = inf", "finite"]),
        ({"lr": float("inf")}, ["lr = inf", "finite"]),
        ({"lr": float("nan")}, ["lr = nan"]),
        ({"momentum": 1.0}, ["momentum = 1.0", "less than 1"]),
        ({"estimator": "median"}, ["estimator = 'median'", "'pairs', 'zscore' or 'ranks'"]),
        ({"updates": "many"}, ["updates = 'many'", "integer"]),
        ({"stale_frac": 0.5, "max_lag": 0}, ["stale_frac 0.5", "set max_lag to at least 1"]),
        ({"stale_frac": 0.5, "on_stale": "drop"}, ["on_stale 'drop'", "stale_frac"]),
        ({"stale_frac": 1.5}, ["stale_frac = 1.5"]),
        ({"seed": -1}, ["seed = -1"]),
        ({"frozen": True, "max_lag": 0}, ["frozen needs a lag", "set max_lag to at least 1"]),
        ({"frozen": True, "stale_frac": 0.5}, ["frozen", "stale_frac 0.5", "unset one"]),
        ({"frozen": True, "on_stale": "drop"}, ["on_stale 'drop'", "frozen"]),
    ],
)
def test_what_is_wrong_is_said_in_one_line(values: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(ConfigError) as error:
        Config.parse(values)
    assert "\n" not in str(error.value)
    assert all(word in str(error.value) for word in words), str(error.value)
    assert isinstance(error.value, UsageError)


@pytest.mark.parametrize(
    "values", [{"rank": 0}, {"rank": 513}, {"targets": ()}, {"factors": "A"}, {"basis": "svd"}, {"alpha": -1.0}]
)
def test_adapter_settings_are_checked_too(values: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(values))):
        Lora.parse(values)


def test_settings_do_not_change() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Config().pairs = 3


@given(pairs=st.integers(2, 64), goals=st.integers(1, 64), max_lag=st.integers(0, 16), estimator=st.booleans())
def test_equal_settings_cost_equally_whatever_the_estimator(
    pairs: int, goals: int, max_lag: int, estimator: bool
) -> None:
    config = Config(pairs=pairs, goals=goals, max_lag=max_lag, estimator="zscore" if estimator else "pairs")
    assert config.per_update * len(config.signs) * config.goals == config.episodes_per_update
    assert config.capacity == config.per_update * (max_lag + 1)


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"max_lag": 0}, "synchronous"),
        ({"max_lag": 0, "stale_frac": 0.0}, "synchronous"),
        ({"max_lag": 2}, "natural, lag <= 2, stragglers: wait"),
        ({"max_lag": 1, "on_stale": "drop"}, "natural, lag <= 1, stragglers: drop"),
        ({"max_lag": 4, "stale_frac": 1.0}, "controlled, 100% of measurements at lag 4"),
        ({"max_lag": 3, "frozen": True}, "frozen, blocks of 4 updates from one centre"),
    ],
)
def test_the_schedule_has_a_name(values: dict[str, Any], name: str) -> None:
    assert Config.parse(values).schedule_name == name


def test_every_setting_says_what_it_is() -> None:
    for settings in (Config, Lora):
        assert all((field.description or "").endswith(".") for field in settings.model_fields.values())


def test_nearest_offers_nothing_far_off() -> None:
    assert nearest("sigm", ["sigma", "seed"]) == "; did you mean 'sigma'?"
    assert nearest("qqqq", ["sigma", "seed"]) == ""
