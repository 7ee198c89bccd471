"""What must be known of a base model before an engine starts: its linear layers, its context, its identity."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aes.errors import DataError

_FUSED = {"q_proj": "qkv_proj", "k_proj": "qkv_proj", "v_proj": "qkv_proj"} | {
    "gate_proj": "gate_up_proj",
    "up_proj": "gate_up_proj",
}


@dataclass(frozen=True, slots=True)
class BaseModel:
    """A base model: `linears` maps paths of linear layers to (inputs, outputs); sizes in parameters and tokens."""

    name: str
    linears: dict[str, tuple[int, int]]
    parameters: int
    context: int
    dtype: str
    digest: str

    @classmethod
    def inspect(cls, model: str) -> BaseModel:
        """Read a model's configuration, without its weights. Blocks; raises DataError."""
        import torch
        from transformers import AutoConfig, AutoModelForCausalLM

        _check_folder(model)
        try:
            config = AutoConfig.from_pretrained(model, trust_remote_code=False)
            with torch.device("meta"):
                built = AutoModelForCausalLM.from_config(config, trust_remote_code=False)  # type: ignore[no-untyped-call]
        except Exception as error:  # a broken configuration makes transformers raise whatever it comes across
            reason = str(error).strip().partition("\n")[0][:200]
            raise DataError(f"model {model}: cannot be read ({reason}); name a folder or a cached model") from None
        return cls.of(model, built, _digest(Path(model)))

    @classmethod
    def of(cls, name: str, built: Any, digest: str = "") -> BaseModel:
        """Describe a transformers model that is built already, on any device (meta too)."""
        import torch

        config = built.config
        linears = {
            path: (layer.in_features, layer.out_features)
            for path, layer in built.named_modules()
            if isinstance(layer, torch.nn.Linear)
        }
        return cls(
            name=name,
            linears=linears,
            parameters=sum(p.numel() for p in built.parameters()),
            context=int(getattr(config, "max_position_embeddings", 4096)),
            dtype=str(config.dtype or "auto").removeprefix("torch."),
            digest=digest,
        )


def fused_path(path: str) -> str:
    """The module of vLLM's model that serves a Hugging Face path: q, k, v and gate, up are one layer there."""
    parent, _, name = path.rpartition(".")
    return f"{parent}.{_FUSED.get(name, name)}"


def _check_folder(model: str) -> None:
    """Refuse a folder that cannot be a model, naming what is missing."""
    folder = Path(model)
    if not folder.exists():
        if model.startswith((".", "/", "~")) or model.count("/") > 1:  # the hub's names are OWNER/NAME
            raise DataError(f"model {model}: no such folder (give --model a model folder or a name in the local cache)")
        return
    if not (folder / "config.json").is_file():
        raise DataError(f"model {folder}: no config.json in it (give --model a Hugging Face model folder)")
    try:
        json.loads((folder / "config.json").read_text())
    except ValueError as error:
        raise DataError(f"model {folder}: config.json is broken ({error})") from None
    if not any(folder.glob("*.safetensors")) and not any(folder.glob("*.bin")):
        raise DataError(
            f"model {folder}: no weights in it (*.safetensors or *.bin; was it saved with save_pretrained?)"
        )


def _digest(folder: Path) -> str:
    """A hash of the configuration and the weight files' first and last mebibyte; '' for a model of the cache."""
    if not folder.is_dir():
        return ""
    state = hashlib.blake2b(digest_size=8)
    for file in sorted([folder / "config.json", *folder.glob("*.safetensors"), *folder.glob("*.bin")]):
        size = file.stat().st_size
        with file.open("rb") as handle:
            state.update(f"{file.name} {size}".encode() + handle.read(1 << 20))
            handle.seek(max(0, size - (1 << 20)))
            state.update(handle.read())
    return state.hexdigest()
