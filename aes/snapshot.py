"""Adapter snapshots in PEFT's format: what `peft` and plain vLLM load."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import save

from aes.lora import LoraSpace

WEIGHTS = "adapter_model.safetensors"


def write(
    folder: Path, space: LoraSpace, theta: torch.Tensor, basis: Mapping[str, torch.Tensor], base_model: str
) -> None:
    """Write theta [dim] as a PEFT LoRA adapter: adapter_config.json and adapter_model.safetensors, float32."""
    named = {name: tensor.cpu().clone().contiguous() for name, tensor in space.tensors(theta, basis).items()}
    place(folder, space, save(named, metadata={"format": "pt"}), base_model)


def place(folder: Path, space: LoraSpace, weights: bytes, base_model: str) -> None:
    """Write an adapter whose weights are safetensors already."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / WEIGHTS).write_bytes(weights)
    settings = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": base_model,
        "r": space.rank,
        "lora_alpha": space.alpha,
        "lora_dropout": 0.0,
        "bias": "none",
        "fan_in_fan_out": False,
        "inference_mode": True,
        "init_lora_weights": True,
        "target_modules": sorted(module.path for module in space.modules),
    }
    (folder / "adapter_config.json").write_text(json.dumps(settings, indent=2) + "\n")
