"""The objectives: 0 at the start, 1 at the optimum and nowhere else."""

from __future__ import annotations

import pytest
import torch

from aes.errors import ConfigError
from aes.simulation.objective import OBJECTIVES, Objective


@pytest.mark.parametrize("ripples", OBJECTIVES.values())
def test_start_and_optimum(ripples: float) -> None:
    objective = Objective(32, ripples)
    assert objective(torch.zeros(32)) == pytest.approx(0.0, abs=1e-6)
    assert objective(torch.ones(32)) == pytest.approx(1.0)
    assert objective(torch.randn(32, generator=torch.Generator().manual_seed(0))) < 1.0


def test_ripples_make_local_optima() -> None:
    """Half a unit from the optimum is better than a little nearer to it."""
    objective = Objective(8, 0.3)
    assert objective(torch.full((8,), 0.5)) > objective(torch.full((8,), 0.6))


@pytest.mark.parametrize("wrong", [(0, 0.0), (8, -1.0), (8, float("inf"))])
def test_what_is_no_objective(wrong: tuple[int, float]) -> None:
    with pytest.raises(ConfigError):
        Objective(*wrong)
