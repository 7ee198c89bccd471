"""Random low-rank changes of the last layer during imitation, like those that evolution strategies will make."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from transformers import LlamaForCausalLM

_RANK = 3
_REFRESH = 20  # steps between two looks at the layer's inputs, which drift slowly


class LastLayerNoise:
    """Adds sigma * B A x to the last layer's down_proj, B drawn anew for every row.

    A holds the top singular vectors of the layer's inputs, scaled to unit rms projection, as
    `aes.lora.activation_basis` makes them: a sigma here is then the same size as a sigma of ES.
    """

    def __init__(self, model: LlamaForCausalLM, generator: torch.Generator) -> None:
        self._module = model.model.layers[-1].mlp.down_proj
        self._generator = generator
        self._basis: torch.Tensor | None = None
        self._age = 0

    @contextmanager
    def on_half(self, rows: int, sigma: float) -> Iterator[None]:
        """Disturb the first `rows` rows of the batch that runs inside; the hook is gone afterwards."""

        def disturb(_: torch.nn.Module, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> torch.Tensor:
            (x,) = inputs
            basis = self._basis_of(x.detach())
            factors = torch.randn(rows, _RANK, output.shape[-1], generator=self._generator) * sigma
            changed = output[:rows] + (x[:rows] @ basis.T) @ factors
            return torch.cat([changed, output[rows:]])

        handle = self._module.register_forward_hook(disturb)
        try:
            yield
        finally:
            handle.remove()

    def _basis_of(self, x: torch.Tensor) -> torch.Tensor:
        if self._basis is None or self._age % _REFRESH == 0:
            flat = x.reshape(-1, x.shape[-1])
            values, vectors = torch.linalg.eigh(flat.T @ flat / len(flat))
            rms = values[-_RANK:].clamp_min(1e-12).sqrt().unsqueeze(1)
            self._basis = vectors[:, -_RANK:].T / rms
        self._age += 1
        return self._basis
