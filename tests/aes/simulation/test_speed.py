"""The batching curve: lines between points, and what is none."""

from __future__ import annotations

import pytest

from aes.errors import ConfigError
from aes.simulation.presets import PRESETS, speed_of
from aes.simulation.speed import Curve


def test_lines_between_points_and_beyond_them() -> None:
    curve = Curve(((2, 0.010), (8, 0.016), (64, 0.030)))
    assert [curve.seconds(batch) for batch in (2, 5, 8, 36, 64, 120)] == pytest.approx(
        [0.010, 0.013, 0.016, 0.023, 0.030, 0.044]
    )
    assert curve.seconds(1) == 0.010  # never less than the shortest that was seen


def test_a_linear_curve() -> None:
    curve = Curve.linear(0.02, 0.001)
    assert [curve.seconds(batch) for batch in (1, 2, 100)] == pytest.approx([0.021, 0.022, 0.12])


@pytest.mark.parametrize("points", [(), ((1, 0.1),), ((2, 0.1), (2, 0.2)), ((0, 0.1), (2, 0.2)), ((1, 0.0), (2, 0.2))])
def test_what_is_no_curve(points: tuple[tuple[int, float], ...]) -> None:
    with pytest.raises(ConfigError, match="curve"):
        Curve(points)


def test_devices_by_name_and_by_numbers() -> None:
    assert speed_of("qwen7b-h100") is PRESETS["qwen7b-h100"]
    speed = speed_of("20,0.5,30")
    assert (speed.curve.seconds(10), speed.prefill) == pytest.approx((0.025, 30e-6))
    assert speed_of("20,0.5").prefill == 0


@pytest.mark.parametrize("text", ["", "20", "1,2,3,4", "a,b", "pocket", "-1,2", "0,0", "nan,1", "inf,1", "1,1,-5"])
def test_what_is_no_device(text: str) -> None:
    with pytest.raises(ConfigError, match="curve"):
        speed_of(text)
