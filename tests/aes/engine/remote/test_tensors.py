"""Weights from the wire are what they should be, or refused."""

from __future__ import annotations

import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save

from aes.engine.remote import tensors
from aes.engine.vllm import space_of
from aes.errors import EngineError
from tests.aes.engine.remote.serving import LORA, MODEL

SPACE = space_of(MODEL, LORA)
SHAPES = tensors.basis_shapes(SPACE)
GOOD = {name: torch.ones(shape) for name, shape in SHAPES.items()}


def test_what_it_should_be() -> None:
    tensors.check(save(GOOD), SHAPES, "it")
    assert len(save(GOOD)) <= tensors.largest(SHAPES)
    adapter = {name: torch.ones(shape) for name, shape in tensors.adapter_shapes(SPACE).items()}
    named = SPACE.tensors(torch.zeros(SPACE.dim), {m.path: torch.ones(SPACE.rank, m.inputs) for m in SPACE.modules})
    assert {name: tensor.shape for name, tensor in named.items()} == {n: t.shape for n, t in adapter.items()}


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({}, "not of this adapter space"),
        ({**GOOD, "more": torch.ones(1)}, "not of this adapter space"),
        ({name: tensor[:1] for name, tensor in GOOD.items()}, "not of this adapter space"),
        ({name: tensor.half() for name, tensor in GOOD.items()}, "not finite float32"),
        ({name: tensor / 0 for name, tensor in GOOD.items()}, "not finite float32"),
    ],
)
def test_safetensors_of_something_else(bad: dict[str, torch.Tensor], said: str) -> None:
    with pytest.raises(EngineError, match=f"it: {said}"):
        tensors.check(save({name: tensor.contiguous() for name, tensor in bad.items()}), SHAPES, "it")


@given(st.binary(max_size=300) | st.just(pickle.dumps({"a": 1})) | st.just(save(GOOD)[:-1]))
def test_no_safetensors(data: bytes) -> None:
    with pytest.raises(EngineError, match="not safetensors"):
        tensors.check(data, SHAPES, "it")
