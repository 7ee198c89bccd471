"""What aes adds to a vLLM worker: the centre lives here, and members' adapters are built here from their seeds.

vLLM mixes `AdapterWorker` into its worker (`worker_extension_cls`) and calls its methods between decoding steps. A
member comes as the path of a LoRA request; its adapter is built in memory when the request is first scheduled. No file,
no weight crosses the process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MethodType
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from vllm.forward_context import get_forward_context
from vllm.lora.lora_model import LoRAModel
from vllm.lora.peft_helper import PEFTHelper

from aes import lora, snapshot
from aes.centre import Centre
from aes.engine import cpu_lora
from aes.engine.model import fused_path
from aes.lora import LoraSpace, Module
from aes.types import Member, Term, Update

Gram = tuple[torch.Tensor, int]


class AdapterWorker:
    """Methods that the driver calls by `collective_rpc`; arguments are plain numbers, strings, lists and dicts."""

    model_runner: Any
    device: torch.device
    _hooks: Sequence[Any] = ()

    def aes_open(self, modules: list[list[Any]], rank: int, alpha: float, factors: str, base_model: str) -> None:
        """Lay out the space and take over the loading of adapters."""
        self.aes_observe(False)  # whoever was here before may have left in the midst of it
        self._space = LoraSpace(tuple(Module(*module) for module in modules), rank, alpha, factors)
        self._base_model = base_model
        self._grams: dict[str, Gram] = {}
        self._centres: dict[str, Centre] = {}
        self._bases: dict[str, Mapping[str, torch.Tensor]] = {}
        manager = self.model_runner.lora_manager
        manager._load_adapter = MethodType(lambda _, request: self._build(request), manager)
        if self.device.type == "cpu":
            cpu_lora.install(self.model_runner)

    def aes_ping(self) -> None:
        """Answer: the engine lives."""

    def aes_observe(self, on: bool) -> None:
        """Record module inputs at the last token of each prompt, or stop doing so."""
        for hook in self._hooks:
            hook.remove()
        self._hooks = [self._watch(module.path) for module in self._space.modules] if on else []

    def aes_start(self, seed: int, basis: str | None, run: str = "") -> tuple[str, int]:
        """Make version 0 of a run; A is random from the seed, or of the file `basis`.

        That is written first if inputs were observed.
        """
        if basis is None:
            self._bases[run] = lora.random_basis(self._space, seed)
        else:
            if self._grams:
                save_file(lora.activation_basis(self._space, self._grams), basis)
                self._grams = {}
            self._bases[run] = load_file(basis)
        self._centres[run] = Centre(self._space.start(self._bases[run]).to(self.device))
        return self._centres[run].digest(), self._space.dim

    def aes_advance(
        self, version: int, seeds: list[int], coefficients: list[float], shrink: float, momentum: float,
        keep: list[int], lags: list[int], run: str = "",
    ) -> tuple[str, list[float]]:  # fmt: skip
        """Apply one update; returns the new digest and the distance moved over each lag."""
        terms = tuple(Term(seed, coefficient) for seed, coefficient in zip(seeds, coefficients, strict=True))
        advanced = self._centres[run].advance(Update(version, terms, shrink, momentum), keep, lags)
        return advanced.digest, [advanced.moved[lag] for lag in lags]

    def aes_export(self, version: int, folder: str, run: str = "") -> None:
        """Write a version as a PEFT adapter."""
        theta = self._centres[run].vector(version)
        snapshot.write(Path(folder), self._space, theta, self._bases[run], self._base_model)

    def aes_forget(self, run: str) -> None:
        """Drop what is held for a run."""
        self._centres.pop(run, None)
        self._bases.pop(run, None)

    def _build(self, request: Any) -> LoRAModel:
        """The adapter of the member that a LoRA request names."""
        member = Member.from_name(request.lora_path)
        theta = self._centres[member.run].member(member)
        manager = self.model_runner.lora_manager
        return LoRAModel.from_lora_tensors(
            request.lora_int_id,
            self._space.tensors(theta, self._bases[member.run]),
            PEFTHelper(
                r=self._space.rank,
                lora_alpha=self._space.alpha,
                target_modules=[module.path for module in self._space.modules],
            ),
            device=str(self.device),
            dtype=manager.lora_config.lora_dtype,
        )

    def _watch(self, path: str) -> Any:
        """A hook that adds x x^T of a module's inputs x at the last token of every prompt in the batch."""

        def add(_: Any, arguments: tuple[torch.Tensor, ...]) -> None:
            metadata = get_forward_context().attn_metadata
            if not metadata:
                return
            ends = next(iter(metadata.values())).query_start_loc
            lengths = ends[1:] - ends[:-1]
            last = (ends[1:] - 1)[lengths > 1].long()
            inputs = arguments[0].reshape(-1, arguments[0].shape[-1])[last].float()
            gram, count = self._grams.get(
                path, (torch.zeros(inputs.shape[1], inputs.shape[1], device=inputs.device), 0)
            )
            self._grams[path] = (gram + inputs.T @ inputs, count + len(inputs))

        return self._runtime_module(path).register_forward_pre_hook(add)

    def _runtime_module(self, path: str) -> torch.nn.Module:
        found: torch.nn.Module = self.model_runner.get_model().get_submodule(fused_path(path))
        return found
