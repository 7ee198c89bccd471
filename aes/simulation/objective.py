"""What the members of a simulation are good at: an analytic function of theta, so that learning can be simulated."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from aes.errors import ConfigError

OBJECTIVES = {"quadratic": 0.0, "rugged": 0.3}
"""Ripples of the objectives that have a name."""


@dataclass(frozen=True)
class Objective:
    """1 - mean over i of (d_i^2 + ripples * (1 - cos(4 pi d_i))), d = theta - 1: 0 at the start, 1 at the optimum.

    Without ripples it is a quadratic; with them it has local optima half a unit apart in every direction, as
    Rastrigin's function has (Rastrigin 1974). Raises ConfigError.
    """

    dim: int = 64
    ripples: float = 0.0

    def __post_init__(self) -> None:
        if self.dim < 1 or not 0 <= self.ripples < math.inf:
            raise ConfigError(f"objective of {self.dim} numbers, ripples {self.ripples}: both must be positive")

    def __call__(self, theta: torch.Tensor) -> float:
        """The value at theta [dim]."""
        away = theta - 1
        loss = away.square().mean()
        if self.ripples:
            loss += self.ripples * (1 - torch.cos(4 * math.pi * away)).mean()
        return 1 - float(loss)
