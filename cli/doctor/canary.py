"""A real engine for a few seconds: does it start, and are adapters applied?"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from aes.errors import AesError, CanaryFailed
from cli import signals
from cli.doctor.finding import Finding
from cli.machine import gpus

LIMIT_S = 240.0
_SIGMA = 1.0


def engine(log: Path, say: Callable[[str], None], limit: float = LIMIT_S) -> Finding:
    """Start vLLM on a small model of random weights, prove that perturbed members differ, and close it again.

    What the engine says goes to `log`. Interrupted closes it and raises Interrupted.
    """
    device = (*gpus(), "cpu")[0]
    began = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="aes-doctor-") as folder:
            signals.run(lambda stop: _prove(device, Path(folder), limit), say)
    except CanaryFailed as error:
        return Finding("engine", "wrong", f"vllm on {device} starts, but {error}", "pip install the vLLM that aes pins")
    except TimeoutError:
        cure = f"see {log}; on a slow machine try a run: aes train --updates 1"
        return Finding("engine", "wrong", f"vllm on {device}: not ready after {limit:.0f} s", cure)
    except (AesError, OSError) as error:
        return Finding("engine", "wrong", f"vllm on {device}: {error}", f"see the end of {log}")
    took = time.monotonic() - began
    return Finding("engine", "ok", f"vllm on {device} started and applies adapters ({took:.0f} s)")


async def _prove(device: str, folder: Path, limit: float) -> None:
    async with asyncio.timeout(limit):
        await asyncio.to_thread(_make, folder)
        from aes.config import Lora
        from aes.engine.model import BaseModel
        from aes.engine.options import VllmOptions
        from aes.engine.vllm import VllmEngine

        options = VllmOptions(device, slots=2, context=256, sequences=8, cache_gib=1, gpu_share=0.2)
        async with VllmEngine(BaseModel.inspect(str(folder)), Lora(rank=2, targets=("down_proj",)), options) as engine:
            await engine.start(0, _SIGMA, folder / "basis.safetensors")


def _make(folder: Path) -> None:
    """The pocket policy's network, untrained: made in a second, and the canary asks for no more."""
    from envs.webshop.pocket.model import build_model
    from envs.webshop.pocket.tokenizer import build_tokenizer

    tokenizer = build_tokenizer()
    build_model(tokenizer, seed=0).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
