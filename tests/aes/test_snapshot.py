"""Snapshots are what `peft` loads, and mean what theta means."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from aes import lora, snapshot
from aes.centre import Centre
from aes.config import Lora
from aes.engine.model import BaseModel
from aes.engine.vllm import space_of
from aes.types import Member

PROMPT = torch.tensor([[5, 20, 33, 7, 90]])


@pytest.mark.parametrize("factors", ["B", "AB"])
def test_peft_loads_what_theta_means(tiny_model: Path, tmp_path: Path, factors: str) -> None:
    peft = pytest.importorskip("peft")
    from transformers import AutoModelForCausalLM

    base = BaseModel.inspect(str(tiny_model))
    space = space_of(
        base, Lora.parse({"rank": 3, "alpha": 6.0, "targets": ("q_proj", "down_proj"), "factors": factors})
    )
    basis = lora.random_basis(space, 1)
    theta = Centre(space.start(basis)).member(Member(0, 5, 1, 0.3))
    snapshot.write(tmp_path / "adapter", space, theta, basis, base.name)

    plain = AutoModelForCausalLM.from_pretrained(tiny_model)
    untouched = plain(PROMPT).logits.detach().clone()
    named = space.tensors(theta, basis)
    with torch.no_grad():
        for module in space.modules:
            a, b = (named[f"{lora.PEFT_PREFIX}{module.path}.lora_{factor}.weight"] for factor in "AB")
            plain.get_parameter(f"{module.path}.weight").add_(space.alpha / space.rank * b @ a)
        by_hand = plain(PROMPT).logits
        adapted = peft.PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(tiny_model), tmp_path / "adapter")
        loaded = adapted(PROMPT).logits
    torch.testing.assert_close(loaded, by_hand, rtol=1e-4, atol=1e-4)
    assert float((loaded - untouched).abs().max()) > 1e-2


def test_a_snapshot_holds_copies_of_all_factors(tmp_path: Path) -> None:
    space = lora.LoraSpace((lora.Module("model.layers.0.up_proj", 4, 6),), 2, 2.0)
    basis = lora.random_basis(space, 1)
    theta = torch.arange(space.dim, dtype=torch.float32)
    snapshot.write(tmp_path, space, theta, basis, "base")
    held = load_file(tmp_path / "adapter_model.safetensors")
    assert torch.equal(held["base_model.model.model.layers.0.up_proj.lora_B.weight"], theta.view(6, 2))
    assert torch.equal(held["base_model.model.model.layers.0.up_proj.lora_A.weight"], basis["model.layers.0.up_proj"])
