"""The engine of a server is one process, and ends with the server: a killed one leaves nothing that holds its GPU."""

from __future__ import annotations

import multiprocessing

from vllm.v1.executor.uniproc_executor import UniProcExecutor

from aes.engine import guard


class Served(UniProcExecutor):  # type: ignore[misc]  # vLLM's classes are untyped here
    """vLLM's executor for one process. On a CPU vLLM takes another, which binds threads; one thread needs none."""


if multiprocessing.current_process().name == "EngineCore":  # vLLM unpickles the class before all else in its process
    guard.begin(served=True)
