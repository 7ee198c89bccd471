"""Many adapters against none: tokens a second of 8 and 16 members at once, as a share of the base model's.

The pocket policy with its own adapters, and a wider random Llama with adapters on every linear layer. Every member
holds eight conversations; their replies are of one length, so that all sides do the same work. In each repetition the
base model, vLLM's own adapter path and ours take turns on one open engine.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from aes.config import Lora
from aes.engine import cpu_lora
from aes.engine.model import BaseModel
from aes.engine.options import VllmOptions
from aes.engine.vllm import VllmEngine
from aes.engine.worker import AdapterWorker
from aes.types import Member
from benchmarks.engines import TunedEngine
from benchmarks.measure import Effort, Figure
from benchmarks.models import make_llama
from cli.settings import resolve
from envs.webshop import pocket
from envs.webshop.catalog.catalog import Catalog

MEMBERS = (8, 16)
GOALS = 8
GOAL = 0.85
Side = Literal["base", "vLLM", "aes"]


@dataclass(frozen=True)
class Work:
    """Conversations: turns, tokens of the first prompt and of what each later turn adds to it, tokens of a reply."""

    name: str
    turns: int
    prompt: int
    seen: int
    reply: int


@dataclass(frozen=True)
class Case:
    """One model, its adapters, and what it is given to do on which sides."""

    name: str
    folder: Path
    lora: Lora
    works: dict[Work, tuple[Side, ...]]


def figures(effort: Effort) -> list[Figure]:
    """For both models, both kinds of work and both numbers of members: our share of the base model's speed."""
    folder = pocket.ensure(Catalog.generate())
    settings, _ = resolve({})
    playing = Work("playing", 2, 120, 60, 12)
    with tempfile.TemporaryDirectory() as wide:
        make_llama(folder, Path(wide), layers=8)
        cases = [
            Case(
                "pocket",
                folder,
                settings.lora.model_copy(update={"basis": "random"}),
                {Work("decoding", 1, 16, 0, 80): ("base", "vLLM", "aes"), playing: ("base", "vLLM", "aes")},
            ),
            Case(
                "wide",
                Path(wide),
                Lora(rank=16),
                # vLLM's own way needs minutes to read so many prompts
                {Work("decoding", 1, 16, 0, 8): ("base", "vLLM", "aes"), playing: ("base", "aes")},
            ),
        ]
        cases = cases[:1] if effort.quick else cases
        return [figure for case in cases for figure in asyncio.run(_figures(case, effort))]


class SwitchedWorker(AdapterWorker):
    """The worker, with a way back to vLLM's own path."""

    def bench_group(self, on: bool) -> None:
        """Group tokens by adapter, or let vLLM have its way."""
        for wrapper in self.model_runner.lora_manager._adapter_manager.punica_wrapper_mapping.values():
            for name in ("add_lora_linear", "update_metadata"):
                vars(wrapper).pop(name, None)
        assert not on or cpu_lora.install(self.model_runner)

    def bench_seconds(self) -> float:
        """Processor time that the engine has had."""
        return time.process_time()


class SwitchedEngine(TunedEngine):
    """An engine of such workers."""

    def _arguments(self) -> dict[str, Any]:
        return super()._arguments() | {"worker_extension_cls": "benchmarks.adapters.SwitchedWorker"}


async def _figures(case: Case, effort: Effort) -> list[Figure]:
    model = BaseModel.inspect(str(case.folder))
    jobs = [(work, members) for work in case.works for members in (MEMBERS[:1] if effort.quick else MEMBERS)]
    rates: dict[tuple[Work, int, Side], list[tuple[float, float]]] = defaultdict(list)
    async with SwitchedEngine(model, case.lora, VllmOptions(slots=max(MEMBERS))) as engine:
        await engine.start(0, 1.0, Path())
        for repetition in range(effort.repetitions + 1):
            for work, members in jobs:
                for side in case.works[work]:
                    measured = await _rates(engine, members, work, side, f"{repetition} {members} {work.name} {side}")
                    if repetition:  # the first warms up
                        rates[work, members, side].append(measured)
    return [
        _figure(
            f"{members} adapters / base, {case.name}, {work.name}",
            {side: rates[work, members, side] for side in case.works[work]},
        )
        for work, members in jobs
    ]


def _figure(name: str, rates: dict[Side, list[tuple[float, float]]]) -> Figure:
    """Shares of tokens a second; beside them the rates, and shares of tokens a second of the engine's processor."""
    detail = {f"{side} tok/s": statistics.mean(rate for rate, _ in of) for side, of in rates.items()}
    for side in list(rates)[1:]:
        detail[f"{side} share"], detail[f"{side} share by CPU"] = (
            statistics.median(mine[clock] / base[clock] for mine, base in zip(rates[side], rates["base"], strict=True))
            for clock in (0, 1)
        )
    shares = [mine[0] / base[0] for mine, base in zip(rates["aes"], rates["base"], strict=True)]
    return Figure(name, "x", shares, detail, "higher", GOAL)


async def _rates(engine: VllmEngine, members: int, work: Work, side: Side, seed: str) -> tuple[float, float]:
    """Tokens a second of all conversations at once, by the clock and by the engine's processor time.

    `seed` makes texts that no prefix cache has seen.
    """
    server, luck = engine._open(), random.Random(seed)
    await server.call("bench_group", side == "aes")
    requests = [None if side == "base" else engine._request(Member(0, seed, 1, 1.0)) for seed in range(members)]
    talks = [_converse(engine, work, random.Random(luck.random()), r) for r in requests for _ in range(GOALS)]
    began, began_cpu = time.perf_counter(), await server.call("bench_seconds")
    await asyncio.gather(*talks)
    spent, spent_cpu = time.perf_counter() - began, await server.call("bench_seconds") - began_cpu
    tokens = len(talks) * work.turns * work.reply
    return tokens / spent, tokens / spent_cpu


async def _converse(engine: VllmEngine, work: Work, luck: random.Random, request: Any) -> None:
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    params = SamplingParams(
        max_tokens=work.reply, ignore_eos=True, detokenize=False, temperature=0.0,
        output_kind=RequestOutputKind.FINAL_ONLY,
    )  # fmt: skip
    prompt = luck.choices(range(10, 500), k=work.prompt)
    for _ in range(work.turns):
        prompt += (await engine._open().generate(prompt, params, request)).token_ids
        prompt += luck.choices(range(10, 500), k=work.seen)
