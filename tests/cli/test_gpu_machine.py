"""What `aes train` makes of a machine with GPUs, on paper: nothing here has one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from transformers import Qwen2Config

from cli import machine, plan, settings
from tests.cli.conftest import Aes

SHAPES: dict[str, dict[str, Any]] = {
    "1.5B": {"hidden_size": 1536, "intermediate_size": 8960, "num_hidden_layers": 28, "num_attention_heads": 12},
    "7B": {"hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28},
}
KV_HEADS = {"1.5B": 2, "7B": 4}


@pytest.fixture(autouse=True)
def eight_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    found = tuple(f"cuda:{number}" for number in range(8))
    for module in (machine, plan, settings):
        monkeypatch.setattr(module, "gpus", lambda: found)


@pytest.fixture(params=SHAPES)
def qwen(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder that is Qwen2.5-Instruct of this size to whoever reads no weights."""
    folder = tmp_path / "qwen"
    config = Qwen2Config(
        **SHAPES[request.param], num_key_value_heads=KV_HEADS[request.param], vocab_size=152064,
        max_position_embeddings=32768, tie_word_embeddings=request.param == "1.5B", dtype="bfloat16",
    )  # fmt: skip
    config.save_pretrained(folder)
    (folder / "model.safetensors").touch()
    return folder


def test_the_preset_for_gpus_is_sound(aes: Aes, qwen: Path) -> None:
    planned = aes("train", "--dry-run", "--model", qwen, "--rank", 32, "--pairs", 30)
    assert planned.code == 0, planned.err
    assert "cuda:7" in planned.out
    assert "all-linear" in planned.out


def test_a_gpu_machine_has_an_instruct_model_on_all_gpus_with_captured_graphs() -> None:
    found, complaints = settings.resolve({})
    assert (found.model, len(found.devices), found.eager, complaints) == (settings.INSTRUCT, 8, False, [])


def test_inputs_are_seen_only_without_graphs() -> None:
    found, complaints = settings.resolve({"basis": "activations"})
    assert found.eager
    assert complaints == []


def test_a_gpu_that_is_not_there_is_refused(aes: Aes, qwen: Path) -> None:
    refused = aes("train", "--dry-run", "--model", qwen, "--devices", "cuda:0,cuda:8")
    assert refused.code == 2
    assert "--devices cuda:8" in refused.err + refused.out
