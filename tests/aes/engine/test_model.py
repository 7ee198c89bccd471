"""What is read of a base model, and how a folder that is none is refused."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from aes.engine.model import BaseModel, fused_path
from aes.errors import DataError


def test_a_model_is_described_without_its_weights(tiny_model: Path) -> None:
    model = BaseModel.inspect(str(tiny_model))
    assert len(model.linears) == 2 * 7 + 1
    assert model.linears["model.layers.1.mlp.down_proj"] == (128, 64)
    assert model.linears["model.layers.0.self_attn.k_proj"] == (64, 32)
    assert (model.context, model.dtype) == (1024, "float32")
    assert model.parameters > 100_000


def test_the_digest_follows_the_weights(tiny_model: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_model, tmp_path / "copy"))
    assert BaseModel.inspect(str(folder)).digest == BaseModel.inspect(str(tiny_model)).digest
    weights = folder / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    assert BaseModel.inspect(str(folder)).digest != BaseModel.inspect(str(tiny_model)).digest


@pytest.mark.parametrize(
    ("path", "fused"),
    [
        ("model.layers.0.self_attn.v_proj", "model.layers.0.self_attn.qkv_proj"),
        ("model.layers.3.mlp.up_proj", "model.layers.3.mlp.gate_up_proj"),
        ("model.layers.3.mlp.down_proj", "model.layers.3.mlp.down_proj"),
    ],
)
def test_fused_layers_are_known(path: str, fused: str) -> None:
    assert fused_path(path) == fused


def without(name: str) -> Callable[[Path], None]:
    def remove(folder: Path) -> None:
        for file in folder.glob(name):
            file.unlink()

    return remove


def with_text(name: str, text: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        (folder / name).write_text(text)

    return write


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (without("*.safetensors"), ["no weights", "save_pretrained"]),
        (without("config.json"), ["no config.json", "--model"]),
        (with_text("config.json", "{"), ["config.json is broken"]),
        (with_text("config.json", "{}"), ["cannot be read", "name a folder"]),
        (with_text("config.json", '{"model_type": "llama", "hidden_size": "wide"}'), ["cannot be read", "hidden_size"]),
        (with_text("config.json", '{"model_type": "nonesuch"}'), ["cannot be read", "nonesuch"]),
        (with_text("config.json", "[]"), ["cannot be read"]),
    ],
)
def test_a_damaged_folder_is_refused_in_one_line(
    tiny_model: Path, tmp_path: Path, damage: Callable[[Path], None], words: list[str]
) -> None:
    folder = Path(shutil.copytree(tiny_model, tmp_path / "model"))
    damage(folder)
    with pytest.raises(DataError) as error:
        BaseModel.inspect(str(folder))
    assert all(word in str(error.value) for word in words), str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["/nowhere/model", "./nowhere", "../nowhere"])
def test_a_missing_folder_is_named(name: str) -> None:
    with pytest.raises(DataError, match="no such folder"):
        BaseModel.inspect(name)


def test_a_name_that_no_cache_holds_is_refused() -> None:
    with pytest.raises(DataError, match="nobody/no-such-model"):
        BaseModel.inspect("nobody/no-such-model")


def test_a_file_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "model").write_text("")
    with pytest.raises(DataError):
        BaseModel.inspect(str(tmp_path / "model"))
