"""The real vLLM engine on the CPU; all tests but the last two share one engine and one event loop."""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM

from aes import ChatTask, Config, Lora, Run, snapshot
from aes.centre import Centre
from aes.engine.canary import SEEN
from aes.engine.model import BaseModel
from aes.engine.options import VllmOptions
from aes.engine.pool import Pool
from aes.engine.vllm import VllmEngine
from aes.errors import CanaryFailed, ConfigError
from aes.events import Updated
from aes.journal import read
from aes.past import Past
from aes.replay import remake
from aes.types import Member, Sampling, Term, Update

pytestmark = [pytest.mark.vllm, pytest.mark.asyncio(loop_scope="session")]

LORA = Lora(rank=2, targets=("down_proj", "q_proj"), basis="activations")
OPTIONS = VllmOptions(slots=8, context=256, cache_gib=1, sequences=64)


class Letters:
    """Three turns; the reward is the share of one letter in the replies, so that members differ."""

    def __init__(self, goal: int) -> None:
        self._goal = goal
        self._turn = 0

    def reset(self, *, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        return f"goal {self._goal}", {}

    def step(self, text: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self._turn += 1
        share = sum(ord(letter) % 7 == self._goal % 7 for letter in text) / max(len(text), 1)
        return "go on", share / 3, self._turn == 3, False, {"success": False}


class Slow(ChatTask):
    """The same with random pauses, so that members come in out of order."""

    luck = random.Random(0)

    async def play(self, policy: Any, goal: Any, seed: int) -> Any:
        await asyncio.sleep(self.luck.random() * 0.2)
        return await super().play(policy, goal, seed)


TASK = ChatTask("letters", Letters, range(100), range(100, 120))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def engine(tiny_model: Path) -> AsyncIterator[VllmEngine]:
    async with VllmEngine(BaseModel.inspect(str(tiny_model)), LORA, OPTIONS) as opened:
        yield opened


async def start(engine: VllmEngine, folder: Path, sigma: float = 1.0) -> str:
    await engine.observe(True)
    await asyncio.gather(*(say(engine, Member(0), f"hello {i}") for i in range(8)))
    await engine.observe(False)
    digest, dim = await engine.start(1, sigma, folder / "basis.safetensors")
    assert dim == engine.space.dim
    return digest


async def say(engine: VllmEngine, member: Member, text: str) -> str:
    prompt = engine.codec.encode(engine.codec.render([{"role": "user", "content": text}]))
    async with engine.seat(member) as seat:
        return (await seat.generate(prompt, Sampling(max_tokens=16))).text


async def test_members_are_built_from_their_seeds(engine: VllmEngine, tmp_path: Path) -> None:
    await start(engine, tmp_path)
    members = [Member(0), Member(0, 5, 1, 1.0), Member(0, 5, -1, 1.0), Member(0, 6, 1, 1.0), Member(0, 5, 1, 2.0)]
    together = await asyncio.gather(*(say(engine, member, "one") for member in members))
    alone = [await say(engine, member, "one") for member in members]
    assert len(set(together)) == len(members)
    assert alone == together


async def test_the_base_is_the_base(engine: VllmEngine, tiny_model: Path, tmp_path: Path) -> None:
    await start(engine, tmp_path)
    base = AutoModelForCausalLM.from_pretrained(tiny_model, dtype=torch.float32)
    await agrees(engine, Member(0), base)


async def test_drawn_replies_to_more_prompts_than_one_step_reads(engine: VllmEngine, tmp_path: Path) -> None:
    await start(engine, tmp_path)

    async def draw(number: int) -> str:
        sampling = Sampling(max_tokens=4, temperature=1.0, seed=number)
        async with engine.seat(Member(0)) as seat:
            return (await seat.generate(engine.codec.encode(f"{number:03} " * 60), sampling)).text

    first = await asyncio.gather(*map(draw, range(64)))
    assert len(set(first)) > 32
    assert await asyncio.gather(*map(draw, range(64))) == first


async def test_updates_are_the_pure_arithmetic(engine: VllmEngine, tmp_path: Path) -> None:
    first = await start(engine, tmp_path)
    centre = Centre(torch.zeros(engine.space.dim))
    assert centre.digest() == first
    before = await say(engine, Member(0, 5, 1, 1.0), "one")
    for version in range(3):
        update = Update(version, (Term(7 + version, 0.5), Term(11, -0.25)), shrink=0.1, momentum=0.5)
        expected = centre.advance(update, {0, version}, {min(version, 1)})
        got = await engine.advance(update, {0, version}, {min(version, 1)})
        assert got.digest == expected.digest
        assert got.moved == pytest.approx(dict(expected.moved))
    assert await say(engine, Member(3, 5, 1, 1.0), "one") != before
    assert await say(engine, Member(0, 5, 1, 1.0), "one") == before


async def test_a_second_run_hears_nothing_from_the_first(engine: VllmEngine, tmp_path: Path) -> None:
    said = []
    for direction in (7, 8):
        await start(engine, tmp_path)
        await engine.advance(Update(0, (Term(direction, 2.0),)), (), ())
        said.append(await say(engine, Member(1), "one"))
        assert said[-1] == await say(engine, Member(1, seed=direction), "one")  # the same weights by another name
    assert said[0] != said[1]


async def test_exports_are_peft_adapters(engine: VllmEngine, tiny_model: Path, tmp_path: Path) -> None:
    await start(engine, tmp_path)
    await engine.advance(Update(0, (Term(3, 2.0),)), (), ())
    await engine.export(1, tmp_path / "adapter")
    base = AutoModelForCausalLM.from_pretrained(tiny_model, dtype=torch.float32)
    await agrees(engine, Member(1), PeftModel.from_pretrained(base, str(tmp_path / "adapter")))


async def agrees(engine: VllmEngine, member: Member, model: Any) -> None:
    """The engine gives the same log-probabilities as a model of transformers."""
    prompt = engine.codec.encode(engine.codec.render([{"role": "user", "content": "which letter comes next?"}]))
    with torch.no_grad():
        expected = model(input_ids=torch.tensor([prompt])).logits[0, -1].log_softmax(-1)[:SEEN].tolist()
    assert await engine.first_logprobs(member, prompt, range(SEEN)) == pytest.approx(expected, abs=1e-2)


async def test_a_lost_perturbation_is_noticed(engine: VllmEngine, tmp_path: Path) -> None:
    with pytest.raises(CanaryFailed, match="raise sigma"):
        await start(engine, tmp_path, sigma=1e-30)


async def test_a_run_keeps_its_bound(engine: VllmEngine, tmp_path: Path) -> None:
    task = Slow("letters", Letters, range(100), range(100, 120))
    config = Config(updates=5, pairs=4, goals=4, max_lag=2, max_tokens=8, eval_every=2, eval_goals=20, lr=0.5)
    async with Run(task, engine, config, tmp_path / "run") as run:
        await run.wait()
    updates = [record for record in read(tmp_path / "run") if record["event"] == "Updated"]
    assert [record["update"]["version"] for record in updates] == [0, 1, 2, 3, 4]
    assert all(0 <= lag <= 2 for record in updates for lag in record["lags"])
    assert all(len(record["consumed"]) == 4 for record in updates)
    assert run.metrics.failures == 0
    assert {p.name for p in (tmp_path / "run" / "adapters").iterdir()} == {"v00000", "v00002", "v00004", "v00005"}


async def test_cancelling_a_run_leaves_the_engine_usable(engine: VllmEngine, tmp_path: Path) -> None:
    config = Config(updates=50, pairs=4, goals=4, max_tokens=8, eval_goals=0, lr=0.5)
    async with Run(TASK, engine, config, tmp_path / "run") as run:
        async for event in run:
            if isinstance(event, Updated):
                break
    assert engine.load[0][1] == 0
    assert await say(engine, Member(run.metrics.version), "one")


async def test_a_version_made_again_says_the_same_everywhere(
    engine: VllmEngine, tiny_model: Path, tmp_path: Path
) -> None:
    """From the journal alone: the worker's own export, peft with transformers, and plain vLLM in another process."""
    config = Config(updates=3, pairs=4, goals=4, max_tokens=8, eval_goals=0, lr=0.5)
    async with Run(TASK, engine, config, tmp_path / "run") as run:
        await run.wait()
    theta, basis = remake(Past.read(tmp_path / "run"), engine.space, 3)
    made = tmp_path / "made"
    snapshot.write(made, engine.space, theta, basis, str(tiny_model))
    exported = tmp_path / "run" / "adapters" / "v00003"
    for name in ("adapter_model.safetensors", "adapter_config.json"):
        assert (made / name).read_bytes() == (exported / name).read_bytes()

    texts = [f"hello {number}" for number in range(4)]
    prompts = [engine.codec.encode(engine.codec.render([{"role": "user", "content": text}])) for text in texts]
    async with engine.seat(Member(3)) as seat:
        inside = [list((await seat.generate(prompt, Sampling(max_tokens=16))).token_ids) for prompt in prompts]
    # A random model has near ties, which the two libraries' roundings may break differently; nothing else may differ.
    base = AutoModelForCausalLM.from_pretrained(tiny_model, dtype=torch.float32)
    assert max(map(regret, [base] * 4, prompts, inside)) > 0.1
    adapted = PeftModel.from_pretrained(base, str(made))
    assert max(map(regret, [adapted] * 4, prompts, inside)) < 0.01

    command = [sys.executable, str(Path(__file__).with_name("plain_vllm.py")), str(tiny_model), str(made)]
    plain = await asyncio.to_thread(
        subprocess.run, command, input=json.dumps(prompts), capture_output=True, text=True, check=True,
        env=os.environ | {"VLLM_CPU_KVCACHE_SPACE": "1"},
    )  # fmt: skip
    said = json.loads(plain.stdout.rpartition("REPLIES ")[2].partition("\n")[0])
    assert max(map(regret, [adapted] * 4, prompts, said)) < 0.01


def regret(model: Any, prompt: list[int], reply: list[int]) -> float:
    """How far the worst token of a reply is, in logits, from the one that the model itself would say there."""
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([prompt + reply])).logits[0, len(prompt) - 1 : -1]
    return float((logits.max(dim=-1).values - logits[torch.arange(len(reply)), torch.tensor(reply)]).max())


async def test_two_engines_agree(tiny_model: Path, tmp_path: Path) -> None:
    model = BaseModel.inspect(str(tiny_model))
    engines = [VllmEngine(model, LORA, VllmOptions(f"cpu:{core}", 4, 256, cache_gib=1)) for core in (0, 1)]
    config = Config(updates=3, pairs=4, goals=4, max_lag=1, max_tokens=8, eval_goals=0, lr=0.5)
    busiest = [0, 0]
    async with Pool(engines) as pool, Run(TASK, pool, config, tmp_path / "run") as run:
        async for _ in run:
            busiest = [max(most, now) for most, (_, now) in zip(busiest, pool.load, strict=True)]
    assert run.metrics.version == 3
    assert busiest == [4, 4]


async def test_an_engine_cancelled_while_opening_leaves_no_process(tiny_model: Path) -> None:
    engine = VllmEngine(BaseModel.inspect(str(tiny_model)), LORA, OPTIONS)
    before = engine_processes()
    opening = asyncio.create_task(engine.__aenter__())
    await asyncio.sleep(0)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert engine_processes() <= before


async def test_impossible_settings_are_refused_before_anything_starts(tiny_model: Path) -> None:
    model = BaseModel.inspect(str(tiny_model))
    with pytest.raises(ConfigError, match="context 9999"):
        VllmEngine(model, LORA, VllmOptions(context=9999))
    with pytest.raises(ConfigError, match="no such linear layers"):
        VllmEngine(model, Lora(targets=("nothing",)), OPTIONS)


def engine_processes() -> int:
    """Engine processes below this one; other runs on this machine do not count."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    processes = [line.split(maxsplit=2) for line in listed.splitlines()]
    mine = {str(os.getpid())}
    while found := {pid for pid, parent, *_ in processes if parent in mine} - mine:
        mine |= found
    return sum(pid in mine and "EngineCore" in " ".join(args) for pid, _, *args in processes)
