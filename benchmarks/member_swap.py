"""Member swap: from the dispatch of a fresh member to its first token, ours against an adapter folder on a RAM disk.

Ours builds the adapter in the worker, from the seed that the request names. The other way makes the same adapter in
the driver, writes it as PEFT's files to /dev/shm, and has vLLM load the folder. That is its best case: no network, no
disk. The engine has nothing else to do; prompts are short, and the same forward pass is in both.
"""

from __future__ import annotations

import asyncio
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import MethodType
from typing import Any

from aes import lora, snapshot
from aes.centre import Centre
from aes.config import Lora
from aes.engine.model import BaseModel
from aes.engine.options import VllmOptions
from aes.engine.worker import AdapterWorker
from aes.types import Member
from benchmarks.engines import TunedEngine
from benchmarks.ground import CACHE_GIB, Ground
from benchmarks.measure import Effort, Figure
from benchmarks.models import make_llama

GOAL = 0.1
MEMBERS = 12
"""Fresh members a repetition; their median counts."""
SIGMA = 0.01
PROMPT = list(range(20, 36))
RAM = Path("/dev/shm")


@dataclass(frozen=True)
class Times:
    """Milliseconds of one repetition's medians: ours, through files with and without writing them, and seated before.

    `seated` is the same request of a member whose adapter is there already: what no way of swapping can go below.
    """

    ours: float
    written: float
    loaded: float
    seated: float


def figures(effort: Effort) -> list[Figure]:
    """The pocket policy with its own adapters, and a wide model with large ones."""
    ground = Ground.of(basis="random")
    found = _figures("pocket policy", ground.model, ground.lora, effort)
    with tempfile.TemporaryDirectory() as folder:
        make_llama(Path(ground.model.name), Path(folder), layers=8)
        wide = BaseModel.inspect(folder)
        return found + _figures("wide model, rank 16 everywhere", wide, Lora(rank=16, factors="AB"), effort)


def _figures(name: str, model: BaseModel, settings: Lora, effort: Effort) -> list[Figure]:
    times, dim = asyncio.run(_times(model, settings, effort))
    detail = {
        "ours ms": statistics.median(t.ours for t in times),
        "files ms": statistics.median(t.written for t in times),
        "of that loading ms": statistics.median(t.loaded for t in times),
        "adapter seated before ms": statistics.median(t.seated for t in times),
        "ours / loading": statistics.median(t.ours / t.loaded for t in times),
        "parameters": dim,
    }
    whole = [t.ours / t.written for t in times]
    alone = [(t.ours - t.seated) / (t.written - t.seated) for t in times]
    return [
        Figure(f"to the first token, ours / files, {name}", "x", whole, detail, goal=GOAL),
        Figure(f"the same less what a seated member takes, {name}", "x", alone, goal=GOAL),
    ]


class LoadingWorker(AdapterWorker):
    """The worker, with a way back to vLLM's loading of folders."""

    def bench_files(self, on: bool) -> None:
        """Load adapters from folders, or build them."""
        manager = self.model_runner.lora_manager
        if on:
            vars(manager).pop("_load_adapter", None)
        else:
            manager._load_adapter = MethodType(lambda _, request: self._build(request), manager)


class LoadingEngine(TunedEngine):
    """An engine of such workers."""

    def _arguments(self) -> dict[str, Any]:
        return super()._arguments() | {"worker_extension_cls": "benchmarks.member_swap.LoadingWorker"}


async def _times(model: BaseModel, settings: Lora, effort: Effort) -> tuple[list[Times], int]:
    seeds, found = count(), list[Times]()
    async with LoadingEngine(model, settings, VllmOptions(slots=8, cache_gib=CACHE_GIB)) as engine:
        await engine.start(0, SIGMA, Path())
        basis = lora.random_basis(engine.space, 0)
        files = Files(engine, Centre(engine.space.start(basis)), basis, model.name)
        members = 3 if effort.quick else MEMBERS
        for _ in range(effort.repetitions + 1):
            ours, seated = await _ours(engine, seeds, members)
            written, loaded = await files.times(seeds, members)
            found.append(Times(ours, written, loaded, seated))
        return found[1:], engine.space.dim  # the first warms up


async def _ours(engine: LoadingEngine, seeds: Iterator[int], members: int) -> tuple[float, float]:
    """Milliseconds to the first token of a fresh member, and of one whose adapter is there."""
    await engine._open().call("bench_files", False)
    fresh, seated = list[float](), list[float]()
    for _ in range(members):
        member = Member(0, next(seeds), 1, SIGMA)
        for times in (fresh, seated):
            await engine._open()._llm.reset_prefix_cache()
            began = time.perf_counter()
            await _first_token(engine, engine._request(member))
            times.append((time.perf_counter() - began) * 1e3)
    return statistics.median(fresh), statistics.median(seated)


async def _first_token(engine: LoadingEngine, request: Any) -> None:
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    params = SamplingParams(
        max_tokens=1, temperature=0.0, detokenize=False, output_kind=RequestOutputKind.FINAL_ONLY
    )  # fmt: skip
    await engine._open().generate(PROMPT, params, request)


@dataclass(frozen=True)
class Files:
    """The way of others: the driver makes adapters and writes them, vLLM loads the folders."""

    engine: LoadingEngine
    centre: Centre
    basis: dict[str, Any]
    base: str

    async def times(self, seeds: Iterator[int], members: int) -> tuple[float, float]:
        """Milliseconds to the first token of a fresh member, with making and writing it, and from the folder on."""
        from vllm.lora.request import LoRARequest

        await self.engine._open().call("bench_files", True)
        written, loaded = [], []
        for _ in range(members):
            member, number = Member(0, next(seeds), 1, SIGMA), next(self.engine._adapter_ids)
            folder = Path(tempfile.mkdtemp(dir=RAM))
            await self.engine._open()._llm.reset_prefix_cache()
            began = time.perf_counter()
            snapshot.write(folder, self.engine.space, self.centre.member(member), self.basis, self.base)
            on_disk = time.perf_counter()
            await _first_token(self.engine, LoRARequest(f"file {number}", number, str(folder)))
            ended = time.perf_counter()
            written.append((ended - began) * 1e3)
            loaded.append((ended - on_disk) * 1e3)
            shutil.rmtree(folder)
        return statistics.median(written), statistics.median(loaded)
