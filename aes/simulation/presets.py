"""Devices by name, and devices as a command line tells them."""

from __future__ import annotations

from aes.config import nearest
from aes.errors import ConfigError
from aes.simulation.scale import H100, QWEN_7B, Load, Reckoning
from aes.simulation.speed import Curve, Speed

PRESETS: dict[str, Speed] = {
    "pocket-cpu": Speed(Curve(((1, 0.0025), (8, 0.0062), (64, 0.0245))), update=0.02),
    "qwen7b-h100": Reckoning(QWEN_7B, H100, Load(pairs=256)).speed,
}
"""`pocket-cpu`: measured by benchmarks/calibrate.py (docs/simulation.md). `qwen7b-h100`: reckoned (docs/scale.md)."""


def speed_of(text: str) -> Speed:
    """A preset by its name, or base_ms,per_sequence_ms[,prefill_us_per_token]. Raises ConfigError."""
    if text in PRESETS:
        return PRESETS[text]
    try:
        base, per_sequence, prefill = [*map(float, text.split(",")), 0.0][:3] if text.count(",") in (1, 2) else []
    except ValueError:
        raise ConfigError(
            f"--curve {text}: neither a device{nearest(text, PRESETS)} (there is {', '.join(PRESETS)}) nor"
            " base_ms,per_sequence_ms or base_ms,per_sequence_ms,prefill_us_per_token"
        ) from None
    return Speed(Curve.linear(base / 1e3, per_sequence / 1e3), prefill / 1e6)
