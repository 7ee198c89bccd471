"""One engine is one process, on every device.

On a CPU vLLM would start a second one for the model, because it can't set up OpenMP in a process that has begun. Here
the process is started with that set up (see `aes.engine.options`), and so one is enough: it starts in two thirds of the
time, needs no shared memory to talk to itself, and there is one process that can die, not two that can die apart.
"""

from __future__ import annotations

import os

from vllm.v1.executor.uniproc_executor import UniProcExecutor

from aes.engine import guard


class OneProcess(UniProcExecutor):  # type: ignore[misc]  # vLLM's classes are untyped here
    """vLLM's executor for one process, which keeps its files in the engine's folder."""

    def _distributed_args(self) -> tuple[str, int, int]:
        method, rank, local_rank = super()._distributed_args()
        if method.startswith("file://"):
            method = f"file://{os.environ[guard.FOLDER]}/rendezvous"
        return method, rank, local_rank


guard.begin()  # vLLM unpickles the class above before it does anything else in its process
