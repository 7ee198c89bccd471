"""The printed line: what a local engine would be started with, and the door; never the token."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from aes import Lora
from aes.engine.model import BaseModel
from aes.engine.options import VllmOptions
from aes.engine.remote.line import line
from aes.errors import ConfigError
from tests.aes.engine.remote.serving import MODEL


def test_a_line_for_a_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AES_TOKEN", "0123456789abcdef")
    options = VllmOptions("cuda:1", slots=8, context=512, eager=False)
    words = shlex.split(line(MODEL, Lora(targets=("down_proj",)), options, "0.0.0.0", 8001, tmp_path / "a token"))
    assert words[:5] == [
        f"AES_TOKEN_FILE={tmp_path}/a token", "VLLM_HTTP_TIMEOUT_KEEP_ALIVE=75", "CUDA_VISIBLE_DEVICES=1", "vllm",
        "serve",
    ]  # fmt: skip
    for flags in (
        "fake --host 0.0.0.0 --port 8001", "--dtype auto", "--enable-lora --max-loras 9 --max-cpu-loras 18",
        "--max-lora-rank 8", "--lora-target-modules down_proj", "--max-model-len 512", "--gpu-memory-utilization 0.85",
        "--worker-extension-cls aes.engine.worker.AdapterWorker", "--middleware aes.engine.remote.door.Door",
        "--distributed-executor-backend aes.engine.remote.executor.Served",
    ):  # fmt: skip
        assert flags in " ".join(words)
    assert "--enforce-eager" not in words
    assert "0123456789abcdef" not in " ".join(words)


def test_a_line_for_a_cpu_listens_to_its_machine_alone() -> None:
    words = shlex.split(line(MODEL, Lora(), VllmOptions("cpu:3")))
    assert words[1:3] == ["VLLM_CPU_KVCACHE_SPACE=2", "OMP_NUM_THREADS=1"]
    assert "--host 127.0.0.1 --port 8000" in " ".join(words)
    assert "--enforce-eager" in words
    assert "--no-enable-chunked-prefill" in words


def test_some_layers_of_a_name_are_named_in_full() -> None:
    two = replace(MODEL, linears=MODEL.linears | {"model.layers.1.mlp.down_proj": (8, 64)})
    some = line(two, Lora(targets=("down_proj",), layers=(-1,)), VllmOptions())
    assert "--lora-target-modules model.layers.1.mlp.down_proj --" in some
    every = line(two, Lora(targets=("down_proj",)), VllmOptions())
    assert "--lora-target-modules down_proj --" in every


def test_a_folder_is_named_from_the_root(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tiny_model.parent)
    model = replace(MODEL, name=tiny_model.name)
    assert f"--model {tiny_model} " in line(model, Lora(targets=("down_proj",)), VllmOptions())
    assert BaseModel.inspect(str(tiny_model)).name == str(tiny_model)


def test_adapters_that_do_not_fit() -> None:
    with pytest.raises(ConfigError, match="no such linear layers"):
        line(MODEL, Lora(targets=("nothing",)), VllmOptions())
    with pytest.raises(ConfigError, match="context"):
        line(MODEL, Lora(), VllmOptions(context=1 << 30))
