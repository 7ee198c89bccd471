"""Weights that arrive over the wire: safetensors, checked for names, shapes and values before anything uses them."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING

from aes.errors import EngineError

if TYPE_CHECKING:
    from aes.lora import LoraSpace

Shapes = Mapping[str, tuple[int, ...]]

_HEADER = 1 << 20
_NAME = 200


def basis_shapes(space: LoraSpace) -> Shapes:
    """What a file of A holds."""
    return {module.path: (space.rank, module.inputs) for module in space.modules}


def adapter_shapes(space: LoraSpace) -> Shapes:
    """What a PEFT adapter holds."""
    from aes.lora import PEFT_PREFIX

    shapes = {}
    for module in space.modules:
        shapes[f"{PEFT_PREFIX}{module.path}.lora_A.weight"] = (space.rank, module.inputs)
        shapes[f"{PEFT_PREFIX}{module.path}.lora_B.weight"] = (module.outputs, space.rank)
    return shapes


def largest(shapes: Shapes) -> int:
    """Bytes that a file of these tensors has at most."""
    return sum(4 * prod(shape) + len(name) + _NAME for name, shape in shapes.items()) + _HEADER


def check(data: bytes, shapes: Shapes, what: str) -> None:
    """Refuse all but safetensors of exactly these names and shapes, float32 and finite. Raises EngineError. Blocks."""
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        tensors = load(data)
    except (SafetensorError, ValueError, KeyError) as error:
        raise EngineError(f"{what}: not safetensors ({error})") from None
    if {name: tuple(tensor.shape) for name, tensor in tensors.items()} != dict(shapes):
        raise EngineError(f"{what}: not of this adapter space (names or shapes differ)")
    if any(tensor.dtype != torch.float32 or not bool(tensor.isfinite().all()) for tensor in tensors.values()):
        raise EngineError(f"{what}: not finite float32 numbers")
