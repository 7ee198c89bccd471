"""What a request may say: honoured, ignored or refused, as the module's drawing has it, and no bug for any bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aes.endpoint import wire
from aes.endpoint.refusal import Refusal
from aes.structured import Choice, JsonSchema, Regex

HELLO = {"messages": [{"role": "user", "content": "hello"}]}


def asked(**parameters: Any) -> wire.Asked:
    return wire.read(json.dumps({**HELLO, **parameters}).encode())


def refused(content: bytes) -> Refusal:
    with pytest.raises(Refusal) as caught:
        wire.read(content)
    assert caught.value.status == 400
    return caught.value


def test_what_is_honoured() -> None:
    said = asked(
        max_tokens=5, max_completion_tokens=7, temperature=0.5, seed=3, stop=["a", "b"], stream=True,
        stream_options={"include_usage": True}, tools=[{"type": "function"}], tool_choice="auto",
    )  # fmt: skip
    assert (said.max_tokens, said.max_completion_tokens, said.temperature, said.seed) == (5, 7, 0.5, 3)
    assert (said.stops, said.stream, said.stream_options.include_usage) == (("a", "b"), True, True)
    assert said.tools_told == [{"type": "function"}]
    assert asked(stop="x").stops == ("x",)
    assert asked(tools=[{"type": "function"}], tool_choice="none").tools_told == []
    assert asked().stops == ()


@pytest.mark.parametrize("name", sorted(wire.IGNORED))
def test_what_is_ignored(name: str) -> None:
    assert asked(**{name: {"anything": [1]}}) == asked()


@pytest.mark.parametrize(("name", "usual"), sorted(wire.AS_IT_IS.items()))
def test_what_is_done_anyway_may_be_asked_for_and_nothing_else(name: str, usual: Any) -> None:
    assert asked(**{name: usual}) == asked(**{name: None}) == asked()
    refusal = refused(json.dumps({**HELLO, name: 17}).encode())
    assert (refusal.code, refusal.param) == ("unsupported_parameter", name)
    assert f"{name} 17: only {usual!r} is served" in str(refusal)


@pytest.mark.parametrize(
    ("parameters", "form"),
    [
        ({}, None),
        ({"response_format": {"type": "text"}}, None),
        ({"response_format": {"type": "json_object"}}, JsonSchema({"type": "object"})),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "array"}}}},
            JsonSchema({"type": "array"}),
        ),
        ({"structured_outputs": {"json": {"type": "array"}}}, JsonSchema({"type": "array"})),
        ({"structured_outputs": {"json": '{"type": "array"}'}}, JsonSchema({"type": "array"})),
        ({"structured_outputs": {"regex": "a+"}}, Regex("a+")),
        ({"structured_outputs": {"choice": ["a", "b"]}}, Choice(("a", "b"))),
    ],
)
def test_the_form_of_a_reply(parameters: dict[str, Any], form: Any) -> None:
    assert asked(**parameters).form == form


@pytest.mark.parametrize(
    "parameters",
    [
        {"response_format": {"type": "xml"}},
        {"response_format": {"type": "json_schema"}},
        {"structured_outputs": {"regex": "a", "choice": ["a"]}},
        {"structured_outputs": {"json": "no schema"}},
    ],
)
def test_a_form_that_is_none_is_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(Refusal):
        _ = asked(**parameters).form


@pytest.mark.parametrize(
    ("parameters", "code", "said"),
    [
        ({"max_token": 3}, "unknown_parameter", "did you mean 'max_tokens'?"),
        ({"functions": []}, "unknown_parameter", "'functions'"),
        ({"messages": []}, "bad_parameter", "messages"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "bad_parameter", "messages.0.role"),
        ({"max_tokens": 0}, "bad_parameter", "max_tokens"),
        ({"temperature": -1}, "bad_parameter", "temperature"),
        ({"temperature": "hot"}, "bad_parameter", "temperature"),
        ({"n": 2}, "unsupported_parameter", "n 2: only 1 is served"),
        ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, "bad_parameter", "tool_choice"),
        ({"tool_choice": "required"}, "bad_parameter", "tool_choice"),
    ],
)
def test_what_is_refused(parameters: dict[str, Any], code: str, said: str) -> None:
    refusal = refused(json.dumps({**HELLO, **parameters}).encode())
    assert refusal.code == code
    assert said in str(refusal)
    assert refusal.body["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff", b"[" * 100_000, b"3", b"null", b"{}", b'{"messages": "hello"}']
)
def test_what_is_no_request_is_refused(content: bytes) -> None:
    refused(content)


words = st.sampled_from(["messages", "role", "user", "content", "stop", "tools", "n", "type", "text"]) | st.text(
    max_size=9
)
values = st.recursive(
    st.none() | st.booleans() | st.floats() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)


@given(
    message=values, parameters=st.dictionaries(words | st.sampled_from([*wire.Asked.model_fields]), values, max_size=3)
)
@settings(max_examples=60)
def test_any_json_is_read_or_refused(message: Any, parameters: dict[str, Any]) -> None:
    try:
        said = wire.read(json.dumps({"messages": [message], **parameters}).encode())
        _ = [message.message for message in said.messages], said.form
    except Refusal as refusal:
        error = refusal
    else:
        return
    assert len(str(error)) < 1000


def test_messages_as_clients_send_them() -> None:
    said = asked(
        messages=[
            {"role": "developer", "content": "be brief", "name": "boss"},
            {"role": "user", "content": [{"type": "text", "text": "two "}, {"type": "text", "text": "parts"}]},
            {
                "role": "assistant",
                "content": None,
                "refusal": None,
                "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}],
            },
            {"role": "tool", "content": "7", "tool_call_id": "1"},
        ]
    )
    messages = [message.message for message in said.messages]
    assert messages[0] == {"role": "system", "content": "be brief"}
    assert messages[1] == {"role": "user", "content": "two parts"}
    assert messages[2]["content"] == ""
    assert messages[2]["tool_calls"][0]["function"] == {"name": "f", "arguments": {"x": 1}}
    assert messages[3] == {"role": "tool", "content": "7", "tool_call_id": "1"}


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]},
        {"role": "assistant", "content": "", "tool_calls": [{"type": "function"}]},
    ],
)
def test_messages_that_no_member_can_read_are_refused(message: Any) -> None:
    said = asked(messages=[message])
    with pytest.raises(Refusal):
        _ = said.messages[0].message
