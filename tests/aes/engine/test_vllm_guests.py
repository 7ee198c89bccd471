"""What users bring to a real vLLM engine: structured replies, OpenAI's client, and several runs at once."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from openai import AsyncOpenAI

from aes import AgentTask, Choice, Config, JsonSchema, Lora, Regex, Run
from aes.engine.model import BaseModel
from aes.engine.options import VllmOptions
from aes.engine.shared import Part, Shared
from aes.engine.vllm import VllmEngine
from aes.events import Updated
from aes.policy import MemberPolicy
from aes.protocols import Engine, Policy
from aes.types import Member, Sampling
from tests.aes.runs import digests, of

pytestmark = [pytest.mark.vllm, pytest.mark.asyncio(loop_scope="module")]

LORA = Lora(rank=2, targets=("down_proj", "q_proj"))
OPTIONS = VllmOptions(slots=6, context=256, cache_gib=1, sequences=32)
SMALL = {"pairs": 2, "goals": 2, "updates": 2, "eval_goals": 2, "eval_every": 0, "max_tokens": 8, "sigma": 1.0}
CONTROLLED: Any = {"max_lag": 1, "stale_frac": 0.5}
HELLO: Any = [{"role": "user", "content": "hello"}]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tiny_model: Path) -> AsyncIterator[Shared]:
    async with Shared(VllmEngine(BaseModel.inspect(str(tiny_model)), LORA, OPTIONS)) as opened:
        yield opened


def luck(text: str) -> float:
    return sum(map(ord, text)) % 17 / 17


async def letters(policy: Policy, goal: int, seed: int) -> float:
    """Fitness that hangs on every letter, so that members differ and any mix-up shows."""
    reply = await policy.complete([{"role": "user", "content": f"goal {goal}"}])
    return luck(reply.text)


TASK = AgentTask("letters", letters, range(50), range(50, 60))


async def trained(engine: Engine, seed: int, task: AgentTask = TASK, **changes: Any) -> list[Any]:
    async with Run(task, engine, Config.parse(SMALL | {"seed": seed} | changes)) as run:
        return [event async for event in run]


async def test_replies_have_the_form_that_is_asked_for(shared: Shared, tmp_path: Path) -> None:
    async with shared.part() as part:
        await part.start(1, 1.0, tmp_path)
        async with part.seat(Member(0, 5, 1, 1.0)) as seat:
            policy = MemberPolicy(seat, part.codec, part.context, Sampling(max_tokens=60))
            free = await policy.complete(HELLO, max_tokens=8)
            word, number, thing = await asyncio.gather(
                policy.complete(HELLO, structured=Choice(("buy", "look further"))),
                policy.complete(HELLO, structured=Regex(r"[0-9]{3}-[a-f]{2}")),
                policy.complete(HELLO, structured=JsonSchema(SCHEMA)),
            )
            assert await policy.complete(HELLO, max_tokens=8) == free
    assert word.text in ("buy", "look further")
    assert re.fullmatch(r"[0-9]{3}-[a-f]{2}", number.text)
    assert set(json.loads(thing.text)) == {"bought", "size"}
    assert {reply.finish_reason for reply in (word, number, thing)} == {"stop"}


SCHEMA = {
    "type": "object",
    "properties": {"bought": {"type": "boolean"}, "size": {"enum": ["s", "m"]}},
    "required": ["bought", "size"],
    "additionalProperties": False,
}


async def test_an_unchanged_openai_agent_is_trained_for_an_update(shared: Shared) -> None:
    async with AsyncOpenAI(api_key="any") as client:

        async def play(policy: Policy, goal: int, seed: int) -> float:
            mine = client.with_options(base_url=policy.base_url)
            said = await mine.chat.completions.create(
                model="any", messages=[{"role": "user", "content": f"goal {goal}"}], max_tokens=8
            )
            form: Any = {"type": "json_schema", "json_schema": {"name": "verdict", "schema": SCHEMA}}
            told = await mine.chat.completions.create(
                model="any", messages=HELLO, response_format=form, max_tokens=60, stream=True
            )
            text = "".join([chunk.choices[0].delta.content or "" async for chunk in told])
            assert set(json.loads(text)) == {"bought", "size"}
            return luck(said.choices[0].message.content or "")

        async with shared.part() as part:
            events = await trained(part, 3, AgentTask("unchanged", play, range(50), range(50, 60)), updates=1)
            direct = await trained(part, 3, updates=1)
    (updated,) = of(Updated, events)
    assert updated.update.terms
    assert digests(events) == digests(direct)


async def test_two_runs_on_one_engine_learn_what_each_learns_alone(shared: Shared, tmp_path: Path) -> None:
    async def part(stack: AsyncExitStack) -> Part:
        return await stack.enter_async_context(shared.part())

    async with AsyncExitStack() as stack:
        alone = [digests(await trained(await part(stack), seed, **CONTROLLED)) for seed in (1, 2)]
        parts = [await part(stack) for _ in range(2)]
        together = await asyncio.gather(
            *(trained(part, seed, **CONTROLLED) for seed, part in zip((1, 2), parts, strict=True))
        )
        assert [digests(events) for events in together] == alone
        await parts[0].export(2, tmp_path)
    assert (tmp_path / "adapter_model.safetensors").is_file()
