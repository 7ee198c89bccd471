"""The endpoint over its port: who is let in, what errors look like, and that nothing of it outlives the run."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from openai import AsyncOpenAI, BadRequestError, InternalServerError, NotFoundError, OpenAI

from aes import AgentTask, Config, Episode, Run
from aes.endpoint import Door, Endpoint
from aes.endpoint.refusal import Refusal
from aes.engine.codec import ChatCodec
from aes.engine.fake import FakeEngine, TextCodec
from aes.errors import ContextOverflow, EngineError, EngineLost, GenerationFailed
from aes.policy import MemberPolicy
from aes.referee import Referee
from aes.structured import Choice
from aes.types import Completion, Member, Sampling
from tests.aes.runs import config

HELLO: Any = [{"role": "user", "content": "hello"}]


class Scripted:
    """A seat that answers as told: a text, an error, or never."""

    def __init__(self, *script: Any) -> None:
        self.script = list(script)
        self.asked: list[Sampling] = []
        self.waiting = asyncio.Event()
        self.aborted = asyncio.Event()

    async def generate(self, prompt: Sequence[int], sampling: Sampling) -> Completion:
        self.asked.append(sampling)
        reply = self.script.pop(0)
        if reply is None:
            self.waiting.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.aborted.set()
                raise
        if isinstance(reply, Exception):
            raise reply
        return Completion(reply, tuple(reply.encode()), len(prompt), "stop")


@asynccontextmanager
async def opened(*script: Any, codec: Any = None) -> AsyncIterator[tuple[AsyncOpenAI, Door, Scripted]]:
    """A client of one episode. Nothing may be left of the endpoint afterwards."""
    before, seat = asyncio.all_tasks(), Scripted(*script)
    async with Endpoint() as endpoint:
        policy = MemberPolicy(seat, codec or TextCodec(), 1000, Sampling(), 0, endpoint.admit)
        async with AsyncOpenAI(base_url=policy.base_url, api_key="any", max_retries=0) as client:
            assert policy._door is not None
            yield client, policy._door, seat
        port = endpoint._port
    await asyncio.sleep(0)
    assert asyncio.all_tasks() <= before | {asyncio.current_task()}
    assert not listens(port)


def listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


async def test_a_request_reaches_the_member_with_what_it_says() -> None:
    async with opened("yes, no]") as (client, _, seat):
        said = await client.chat.completions.create(
            model="gpt-4o", messages=HELLO, max_completion_tokens=9, temperature=0.5, seed=3, stop=["]"],
            extra_body={"structured_outputs": {"choice": ["yes", "no"]}},
        )  # fmt: skip
        assert said.choices[0].message.content == "yes, no"
    assert seat.asked == [Sampling(9, 0.5, 3, ("]",), Choice(("yes", "no")))]


async def test_a_stream_and_the_models() -> None:
    async with opened("yes") as (client, _, _):
        stream = await client.chat.completions.create(
            model="any", messages=HELLO, stream=True, stream_options={"include_usage": True}
        )
        chunks = [chunk async for chunk in stream]
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "yes"
        assert chunks[-1].usage is not None
        assert [model.id async for model in await client.models.list()] == ["member"]


@pytest.mark.parametrize(
    ("error", "raised", "code"),
    [
        (ContextOverflow("prompt of 9 tokens"), BadRequestError, "context_length_exceeded"),
        (GenerationFailed("engine refused a request"), BadRequestError, "generation_failed"),
        (EngineLost("engine cpu: killed"), InternalServerError, "engine_lost"),
        (ZeroDivisionError("a bug"), InternalServerError, "internal"),
    ],
)
async def test_errors_have_openai_s_shape_and_are_not_tried_again_by_the_client(
    error: Exception, raised: type[Any], code: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(error, "yes") as (client, door, seat):
        with pytest.raises(raised) as caught:
            await client.with_options(max_retries=2).chat.completions.create(model="any", messages=HELLO)
        assert caught.value.code == code
        assert len(seat.asked) == 1
        assert (door.failed is error) == (code != "internal")
        await client.chat.completions.create(model="any", messages=HELLO)
        assert door.failed is None
    assert ("a bug" in caplog.text) == (code == "internal")


async def test_tools_are_refused_where_the_model_knows_none() -> None:
    async with opened() as (client, _, _):
        with pytest.raises(BadRequestError, match="the fake engine knows none"):
            await client.chat.completions.create(
                model="any", messages=HELLO, tools=[{"type": "function", "function": {"name": "f"}}]
            )


async def test_tools_go_through_the_chat_template(tiny_model: Any) -> None:
    codec = ChatCodec.load(str(tiny_model))
    codec._tokenizer.chat_template = (
        "{% for t in tools or [] %}<tool_call> {{ t.function.name }}{% endfor %}"
        "{% for m in messages %}{{ m.role }}{{ m.content }}{% endfor %}"
    )
    tools: Any = [{"type": "function", "function": {"name": "add", "parameters": {}}}]
    call = '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>'
    async with opened(call, codec=codec) as (client, _, _):
        said = await client.chat.completions.create(model="any", messages=HELLO, tools=tools)
    (found,) = said.choices[0].message.tool_calls or []
    assert found.type == "function"
    assert (found.function.name, found.function.arguments) == ("add", '{"a": 1}')
    assert codec.render(HELLO, tools) == "<tool_call> adduserhello"


async def test_the_token_lets_in_by_path_or_as_the_key_and_nothing_else_does() -> None:
    async with opened("a", "b") as (client, door, _):
        plain = str(client.base_url).replace(f"/{door.token}", "")
        async with AsyncOpenAI(base_url=plain, api_key=door.token, max_retries=0) as by_key:
            assert (await by_key.chat.completions.create(model="any", messages=HELLO)).choices
        for url, key in ((plain, "wrong"), (str(client.base_url).replace(door.token, "wrong"), door.token)):
            async with AsyncOpenAI(base_url=url, api_key=key, max_retries=0) as stranger:
                with pytest.raises(NotFoundError, match="no such episode"):
                    await stranger.chat.completions.create(model="any", messages=HELLO)
                with pytest.raises(NotFoundError):
                    await stranger.models.list()


async def test_an_address_is_void_after_the_episode_and_who_waits_is_told() -> None:
    async with opened(None) as (client, door, seat):
        waiting = asyncio.create_task(client.chat.completions.create(model="any", messages=HELLO))
        await seat.waiting.wait()
        door.close()
        with pytest.raises(NotFoundError, match="it is over"):
            await waiting
        assert seat.aborted.is_set()
        with pytest.raises(NotFoundError):
            await client.chat.completions.create(model="any", messages=HELLO)


async def test_nobody_gets_an_address_when_it_is_too_late() -> None:
    async with Endpoint() as endpoint:
        early, late = (MemberPolicy(Scripted(), TextCodec(), 1000, Sampling(), 0, endpoint.admit) for _ in range(2))
        early.close()
        with pytest.raises(EngineError, match="the episode is over"):
            _ = early.base_url
    with pytest.raises(EngineError, match="the run is over"):
        _ = late.base_url
    assert endpoint._serving is None


async def test_a_request_that_arrives_as_the_episode_ends_is_never_begun() -> None:
    async with opened("never") as (_, door, seat):
        door.close()
        with pytest.raises(Refusal, match="it is over"):
            await door.complete(HELLO)
        assert not seat.asked


async def test_a_client_that_goes_away_aborts_its_request() -> None:
    async with opened(None) as (client, _, seat):
        waiting = asyncio.create_task(client.chat.completions.create(model="any", messages=HELLO))
        await seat.waiting.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        async with asyncio.timeout(5):
            await seat.aborted.wait()


async def test_other_addresses_and_bodies_get_openai_s_errors_too() -> None:
    async with opened() as (client, _, _), aiohttp.ClientSession() as session:
        for method, path, status in (("GET", "x", 404), ("PUT", "models", 405), ("POST", "chat/completions", 400)):
            async with session.request(method, f"{client.base_url}{path}", data=b"{") as answer:
                assert answer.status == status
                assert (await answer.json())["error"]["message"]


async def test_no_port_is_opened_where_nobody_asks_and_leaving_unentered_use_is_quick() -> None:
    async with Endpoint() as endpoint:
        MemberPolicy(Scripted(), TextCodec(), 1000, Sampling(), 0, endpoint.admit)
        assert endpoint._serving is None
    async with Endpoint() as endpoint:  # opened and left before it has served anything
        policy = MemberPolicy(Scripted(), TextCodec(), 1000, Sampling(), 0, endpoint.admit)
        assert policy.api_key in policy.base_url
    assert not listens(endpoint._port)


# Whole episodes and runs


async def in_async_client(policy: Any, goal: Any, seed: int) -> float:
    async with AsyncOpenAI(base_url=policy.base_url, api_key="any") as client:
        said = await client.chat.completions.create(model="any", messages=messages(goal))
    return float(said.choices[0].message.content == f"take[{'ab'[goal % 2]}]")


def async_agent(client: AsyncOpenAI) -> Any:
    async def play(policy: Any, goal: Any, seed: int) -> float:
        mine = client.with_options(base_url=policy.base_url)
        said = await mine.chat.completions.create(model="any", messages=messages(goal))
        return float(said.choices[0].message.content == f"take[{'ab'[goal % 2]}]")

    return play


def sync_agent(client: OpenAI) -> Any:
    def play(policy: Any, goal: Any, seed: int) -> float:
        mine = client.with_options(base_url=policy.base_url, api_key=policy.api_key)
        said = mine.chat.completions.create(model="any", messages=messages(goal))
        return float(said.choices[0].message.content == f"take[{'ab'[goal % 2]}]")

    return play


def messages(goal: int) -> Any:
    return [{"role": "user", "content": f"{'ab'[goal % 2]} please\ntake[a] take[b]"}]


@pytest.mark.parametrize("blocking", [False, True])
async def test_an_unchanged_agent_is_trained_through_the_endpoint(blocking: bool) -> None:
    before = asyncio.all_tasks()
    settings = config(updates=3, pairs=8, goals=2, eval_goals=6, max_lag=0, eval_every=0)
    async with AsyncOpenAI(api_key="any") as asynchronous:
        with OpenAI(api_key="any") as synchronous:
            play = sync_agent(synchronous) if blocking else async_agent(asynchronous)
            task = AgentTask("unchanged", play, range(20), range(20, 30))
            async with FakeEngine() as engine, Run(task, engine, settings) as run:
                await run.wait()
                port = run._referee._endpoint._port
                assert run.finished
    first, last = run.summary()["evaluations"]
    assert last["score"] > first["score"]
    assert run.metrics.turns == 3 * settings.episodes_per_update
    assert run.metrics.tokens > run.metrics.turns
    assert asyncio.all_tasks() <= before | {asyncio.current_task()}
    assert not listens(port)


@pytest.mark.parametrize(
    ("error", "kind"), [(ContextOverflow("too long"), "context"), (GenerationFailed("refused"), "generation")]
)
async def test_what_the_endpoint_refused_is_told_by_its_own_kind(error: Exception, kind: str) -> None:
    class Refusing(FakeEngine):
        @asynccontextmanager
        async def seat(self, member: Member) -> AsyncIterator[Any]:
            yield Scripted(error)

    engine = Refusing()
    referee = Referee(AgentTask("refused", in_async_client, (0,), ()), engine, Config(retries=0))
    async with referee, engine.seat(Member(0)) as seat:
        episode = await referee.play(seat, 0, 0)
    assert episode.failure is not None
    assert episode.failure.kind == kind


async def test_a_lost_engine_is_no_failure_of_the_play() -> None:
    class Dying(FakeEngine):
        @asynccontextmanager
        async def seat(self, member: Member) -> AsyncIterator[Any]:
            yield Scripted(EngineLost("engine fake: killed"))

    engine = Dying()
    referee = Referee(AgentTask("lost", in_async_client, (0,), ()), engine, Config(retries=0))
    async with referee, engine.seat(Member(0)) as seat:
        with pytest.raises(EngineLost):
            await referee.play(seat, 0, 0)


async def test_a_run_that_is_cancelled_leaves_no_request_and_no_port() -> None:
    reached = asyncio.Event()

    async def play(policy: Any, goal: Any, seed: int) -> Episode:
        reached.set()
        async with AsyncOpenAI(base_url=policy.base_url, api_key="any") as client:
            await client.chat.completions.create(model="any", messages=messages(goal))
        raise AssertionError

    async def main() -> None:
        slow = FakeEngine(slots=2, latency=lambda member, length: 60.0)
        async with slow, Run(AgentTask("slow", play, range(4), ()), slow, config(goals=1, eval_goals=0)) as run:
            ports.append(run)
            await run.wait()

    ports: list[Run] = []
    before = asyncio.all_tasks()
    running = asyncio.create_task(main())
    await reached.wait()
    await asyncio.sleep(0.3)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert asyncio.all_tasks() <= before | {asyncio.current_task()}
    assert not listens(ports[0]._referee._endpoint._port)
