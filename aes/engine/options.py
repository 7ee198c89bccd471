"""How one vLLM engine is set up, and the environment its process inherits."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_STARTING = threading.Lock()


@dataclass(frozen=True, slots=True)
class VllmOptions:
    """How one engine is set up.

    Attributes:
        device: `cpu` (all cores), `cpu:N` (core N alone) or `cuda:N`.
        slots: training members that decode together; one more adapter is kept for evaluation.
        context: longest conversation in tokens (None: the model's own, at most 4096).
        dtype: `auto` or a torch dtype name.
        sequences: requests decoded in one batch.
        cache_gib: KV cache on a CPU, in GiB.
        gpu_share: share of a GPU's memory that vLLM may take.
        eager: no graph capture; needed where module inputs are observed.
    """

    device: str = "cpu"
    slots: int = 16
    context: int | None = None
    dtype: str = "auto"
    sequences: int = 256
    cache_gib: int = 2
    gpu_share: float = 0.85
    eager: bool = True


@contextmanager
def environment(options: VllmOptions) -> Iterator[None]:
    """The environment an engine process inherits, for one start at a time; the caller's own is restored afterwards."""
    kind, _, number = options.device.partition(":")
    wanted = {"VLLM_WORKER_MULTIPROCESSING_METHOD": "spawn"}
    wanted["VLLM_LOGGING_LEVEL"] = os.environ.get("VLLM_LOGGING_LEVEL", "ERROR")
    if kind == "cpu":
        wanted["VLLM_CPU_KVCACHE_SPACE"] = str(options.cache_gib)
        if number:
            wanted["VLLM_CPU_OMP_THREADS_BIND"] = number
    elif number:
        wanted["CUDA_VISIBLE_DEVICES"] = number
    with _STARTING:
        before = {key: os.environ.get(key) for key in wanted}
        os.environ.update(wanted)
        try:
            yield
        finally:
            for key, value in before.items():
                if value is None:
                    del os.environ[key]
                else:
                    os.environ[key] = value
