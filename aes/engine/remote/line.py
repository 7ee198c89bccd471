"""The line that starts a server: `vllm serve` with just what a local engine would be started with, and our door."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aes.config import Lora
from aes.engine.model import BaseModel, fused_path
from aes.engine.options import VllmOptions
from aes.engine.remote import secret
from aes.engine.vllm import arguments, space_of
from aes.lora import LoraSpace

DOOR = "aes.engine.remote.door.Door"

SERVE_CPU = ("python", "-m", "vllm.entrypoints.launchers.api_server.entry", "--model")
"""What `vllm serve` comes to. With vLLM's CPU build that command itself dies: it looks for a package named vllm."""

EXECUTOR = "aes.engine.remote.executor.Served"
"""Not for all cores of a CPU: there vLLM's own binds a thread to each, without which they get in each other's way."""

KEEP_ALIVE_S = 75
"""Longer than a driver keeps an idle connection: else it may be closed just when it is used again."""


def line(
    model: BaseModel, settings: Lora, options: VllmOptions, host: str = "127.0.0.1", port: int = 8000,
    token_file: Path | None = None,
) -> str:  # fmt: skip
    """The command, environment first, as a shell takes it. Raises ConfigError where adapters do not fit the model."""
    space = space_of(model, settings)
    given = arguments(model, space, options) | {"lora_target_modules": _ends(model, space)}
    name = str(given.pop("model"))
    folder = Path(name).expanduser()
    serve = SERVE_CPU if options.device.startswith("cpu") else ("vllm", "serve")
    words = [
        *(f"{key}={shlex.quote(value)}" for key, value in environment(options, token_file).items()),
        *serve,
        shlex.quote(str(folder.resolve()) if folder.is_dir() else name),
        *("--host", shlex.quote(host), "--port", str(port)),
        *_flags(given),
        *(() if options.device == "cpu" else ("--distributed-executor-backend", EXECUTOR)),
        *("--middleware", DOOR, "--disable-uvicorn-access-log"),
    ]
    return " ".join(words)


def environment(options: VllmOptions, token_file: Path | None = None) -> dict[str, str]:
    """The environment that a server needs beside a token."""
    kind, _, number = options.device.partition(":")
    wanted = {secret.TOKEN_FILE: str(token_file.expanduser().resolve())} if token_file else {}
    wanted["VLLM_HTTP_TIMEOUT_KEEP_ALIVE"] = str(KEEP_ALIVE_S)
    if kind == "cpu":
        wanted["VLLM_CPU_KVCACHE_SPACE"] = str(options.cache_gib)
        if number:
            wanted["OMP_NUM_THREADS"] = "1"
    elif number:
        wanted["CUDA_VISIBLE_DEVICES"] = number
    return wanted


def _flags(given: dict[str, Any]) -> Iterator[str]:
    """Flags of vLLM's command line from the names of its arguments."""
    for key, value in given.items():
        flag = f"--{key.replace('_', '-')}"
        if isinstance(value, bool):
            yield flag if value else f"--no-{flag[2:]}"
        elif isinstance(value, dict):
            yield from (flag, shlex.quote(json.dumps(value)))
        elif isinstance(value, list):
            yield from (flag, *map(shlex.quote, value))
        else:
            yield from (flag, shlex.quote(str(value)))


def _ends(model: BaseModel, space: LoraSpace) -> list[str]:
    """What vLLM wraps: names of layers where all of a name are adapted, else whole paths."""
    paths = {fused_path(module.path) for module in space.modules}
    names = {path.rpartition(".")[2] for path in paths}
    alike = {fused for path in model.linears if (fused := fused_path(path)).rpartition(".")[2] in names}
    return sorted(names if alike == paths else paths)
