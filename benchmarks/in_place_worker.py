"""The worker of the usual way: all parameters of vLLM's model, changed in place.

On a CPU vLLM packs the weights of linear layers for its kernels and throws the originals away. Here they are kept, and
packed again after every change; nobody who perturbs weights in place is spared that there. vLLM imports this module in
the engine's process, before it loads the model.
"""

from __future__ import annotations

import time
from typing import Any

import torch
from vllm.model_executor.layers import utils

_pack = utils.dispatch_cpu_unquantized_gemm


def _pack_and_keep(layer: torch.nn.Module, remove_weight: bool) -> None:
    _pack(layer, remove_weight=False)


utils.dispatch_cpu_unquantized_gemm = _pack_and_keep


class InPlaceWorker:
    """Methods that the driver calls."""

    model_runner: Any

    def aes_open(self, *_: Any) -> None:
        """Nothing to lay out."""

    def aes_ping(self) -> None:
        """Answer: the engine lives."""

    def bench_add(self, seeds: list[int], coefficients: list[float]) -> float:
        """Add coefficient * eps(seed) for each seed to all parameters; the seconds it took."""
        began = time.perf_counter()
        model = self.model_runner.get_model()
        parameters = list(model.parameters())
        for seed, coefficient in zip(seeds, coefficients, strict=True):
            generator = torch.Generator(device=parameters[0].device).manual_seed(seed)
            for weight in parameters:
                noise = torch.randn(weight.shape, generator=generator, device=weight.device, dtype=weight.dtype)
                weight.data.add_(noise, alpha=coefficient)
        for layer in model.modules():
            if hasattr(layer, "cpu_linear"):
                _pack(layer, remove_weight=False)
        return time.perf_counter() - began

    def bench_parameters(self) -> int:
        """How many parameters are perturbed."""
        return sum(weight.numel() for weight in self.model_runner.get_model().parameters())
