"""The arithmetic of scale, against figures that are public or worked by hand."""

from __future__ import annotations

import pytest

from aes.simulation.scale import H100, QWEN_7B, Load, Reckoning


def test_the_model_has_its_public_size() -> None:
    assert QWEN_7B.parameters == pytest.approx(7.615e9, rel=1e-3)
    assert QWEN_7B.kv_bytes == 2 * 28 * 4 * 128 * 2 == 57_344


def test_an_adapter_of_rank_32_on_all_linear_layers() -> None:
    q_and_o, k_and_v, mlp = 2 * (3584 + 3584), 2 * (3584 + 512), 3 * (3584 + 18944)
    assert QWEN_7B.lora(32) == 28 * 32 * (q_and_o + k_and_v + mlp) == 80_740_352


def test_tokens_of_an_update() -> None:
    told = Reckoning(QWEN_7B, H100, Load(pairs=30, goals=16, turns=6, reply=50, first_prompt=250, prompt=200))
    assert told.episodes == 960
    assert told.decoded == 960 * 6 * 50
    assert told.prefilled == 960 * (250 + 5 * 200)
    assert told.context == 250 + 5 * 200 + 6 * 50


def test_members_in_flight_are_bound_by_slots_or_by_the_population() -> None:
    assert Reckoning(QWEN_7B, H100, Load(pairs=256, devices=8)).members == 16
    assert Reckoning(QWEN_7B, H100, Load(pairs=30, devices=8)).members == 15
    assert Reckoning(QWEN_7B, H100, Load(pairs=30, devices=8, max_lag=0)).members == 7.5


def test_a_step_is_bound_by_memory_first_and_by_computing_last() -> None:
    told = Reckoning(QWEN_7B, H100, Load(pairs=256))
    alone = 2 * (QWEN_7B.read + QWEN_7B.lora(32)) + told.context / 2 * QWEN_7B.kv_bytes
    assert told.step(1) == pytest.approx(0.003 + alone / (3.35e12 * 0.6))
    assert told.step(100_000) == pytest.approx(0.003 + 100_000 * told.prefill, rel=0.01)
    assert all(told.step(b) < told.step(2 * b) for b in (1, 2, 4, 8, 16, 32, 64, 128))


def test_the_simulators_device_is_the_one_reckoned() -> None:
    told = Reckoning(QWEN_7B, H100, Load(pairs=256))
    assert told.speed.curve.seconds(told.batch) == pytest.approx(told.step(told.batch))
    assert told.speed.update == told.update


def test_ten_times_the_devices_are_more_than_one_driver_can_serve() -> None:
    small, large = (Reckoning(QWEN_7B, H100, Load(pairs=256 * n, devices=8 * n)) for n in (1, 10))
    assert small.driver_share < 1 < large.driver_share
    assert large.update == pytest.approx(10 * small.update, rel=0.25)
