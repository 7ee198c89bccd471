"""How one vLLM engine is set up, and the environment its process inherits."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from aes.engine import guard

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
        engine_seconds: an engine that leaves a call unanswered for so long is taken for dead. It answers between two
            decoding steps, so this need only be longer than the longest of them, such as a large prefill on a CPU.
    """

    device: str = "cpu"
    slots: int = 16
    context: int | None = None
    dtype: str = "auto"
    sequences: int = 256
    cache_gib: int = 2
    gpu_share: float = 0.85
    eager: bool = True
    engine_seconds: float = 300.0


@contextmanager
def environment(options: VllmOptions, folder: Path) -> Iterator[None]:
    """The environment an engine process inherits, for one start at a time; the caller's own is restored afterwards.

    `folder` is where it makes its sockets; whoever ends it removes that.
    """
    kind, _, number = options.device.partition(":")
    wanted = {"VLLM_WORKER_MULTIPROCESSING_METHOD": "spawn", "VLLM_RPC_BASE_PATH": str(folder)}
    wanted |= {guard.DRIVER: str(os.getpid()), guard.FOLDER: str(folder)}
    wanted["VLLM_LOGGING_LEVEL"] = os.environ.get("VLLM_LOGGING_LEVEL", "ERROR")
    if kind == "cpu":
        cores = [int(number)] if number else free_cores()
        wanted["VLLM_CPU_KVCACHE_SPACE"] = str(options.cache_gib)
        wanted["OMP_NUM_THREADS"] = str(len(cores))
        wanted["OMP_PLACES"] = f"{{{','.join(map(str, cores))}}}"
        wanted["OMP_PROC_BIND"] = "true"
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


def free_cores() -> list[int]:
    """The cores for an engine that may take all: one thread of each on one NUMA node, save one for the driver.

    The choice is vLLM's own, and so is the node: it takes its memory there.
    """
    from vllm.utils.cpu_resource_utils import get_allowed_cpu_list

    allowed = get_allowed_cpu_list()
    cores = sorted({cpu.physical_core: cpu.id for cpu in allowed if cpu.numa_node == allowed[0].numa_node}.values())
    return cores[:-1] or cores
