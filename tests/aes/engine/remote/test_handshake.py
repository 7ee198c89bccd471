"""A server is refused for each thing that it is not, in one line with the cure."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aes import Lora
from aes.engine.remote import handshake, wire
from aes.engine.remote.handshake import Wanted
from aes.engine.vllm import space_of
from aes.errors import EngineUnfit
from tests.aes.engine.remote.serving import LORA, MODEL, FakeHost

URL = "http://somewhere:8000"


def wanted(lora: Lora = LORA, **changes: Any) -> Wanted:
    return replace(Wanted(MODEL, "auto", space_of(MODEL, lora), None, False), **changes)


async def hello(**changes: Any) -> wire.Hello:
    return await FakeHost(**changes).hello("")


async def test_a_server_that_is_what_is_wanted() -> None:
    handshake.check(await hello(), wanted(), URL)
    handshake.check(await hello(modules=None), wanted(dtype="float32", context=64, observes=True), URL)


@pytest.mark.parametrize(
    ("said", "refusal"),
    [
        ({"model_digest": "other"}, r"another model, fake \(other\), than fake \(digest\)"),
        ({"model_digest": ""}, r"another model, fake \(of its cache\)"),
        ({"extension": "other"}, r"its aes has other sources \(other\).*install one on both"),
        ({"asked": "float16", "dtype": "float16"}, "computes with float16, the run has --dtype auto"),
        ({"rank": 2}, r"rank 2 at most, not 4 \(start it again"),
        ({"modules": ("gate_proj",)}, r"adapts no model\.layers\.0\.mlp\.down_proj"),
        ({"modules": ("n_proj",)}, "adapts no"),
        ({"context": 63}, "its context is 63 tokens, not 64"),
        ({"eager": False}, "--enforce-eager"),
        ({"problem": "its workers are not ours"}, "its workers are not ours"),
    ],
)
async def test_a_server_that_is_something_else(said: dict[str, Any], refusal: str) -> None:
    with pytest.raises(EngineUnfit, match=refusal) as refused:
        handshake.check(await hello(**said), wanted(context=64, observes=True), URL)
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith(f"engine {URL}: ")


async def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(EngineUnfit, match=r"another model.*rank 1.*adapts no"):
        handshake.check(await hello(model_digest="other", rank=1, modules=()), wanted(), URL)


async def test_a_model_of_a_hub_goes_by_its_name() -> None:
    cached = replace(MODEL, digest="")
    handshake.check(await hello(model_digest=""), wanted(model=cached), URL)
    with pytest.raises(EngineUnfit, match="another model"):
        handshake.check(await hello(model_digest="", model="other"), wanted(model=cached), URL)


async def test_what_a_server_says_is_read() -> None:
    said = await hello()
    assert handshake.read(said.model_dump_json().encode(), URL) == said


async def test_another_version_of_the_wire_is_refused_before_all_else() -> None:
    with pytest.raises(EngineUnfit, match="speaks version 2 of the wire, we 1"):
        handshake.read(json.dumps({"wire": 2, "and": "more"}).encode(), URL)
    with pytest.raises(EngineUnfit, match=r"nothing of use about itself \(slots"):
        handshake.read((await hello()).model_dump_json().replace('"slots":4', '"slots":0').encode(), URL)


@given(st.binary(max_size=200) | st.sampled_from([b"[]", b"1", b'{"wire":[]}', b"[" * 100_000, b'{"wire":1}']))
def test_rubbish_is_no_server(data: bytes) -> None:
    with pytest.raises(EngineUnfit):
        handshake.read(data, URL)
