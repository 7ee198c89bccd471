"""Replies in OpenAI's shape: whole and in chunks, stop texts left out, tool calls read or left as text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from aes.endpoint.answer import Answer
from aes.types import Completion

CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'


def answer(text: str, **changes: Any) -> Answer:
    return Answer("chatcmpl-1", Completion(text, (1, 2, 3), 10, "stop"), **changes)


def test_a_whole_answer_is_what_the_client_reads() -> None:
    whole = ChatCompletion.model_validate(answer("yes", stop=["x"]).whole())
    assert whole.choices[0].message.content == "yes"
    assert whole.choices[0].finish_reason == "stop"
    assert whole.usage is not None
    assert (whole.usage.prompt_tokens, whole.usage.completion_tokens, whole.usage.total_tokens) == (10, 3, 13)


@pytest.mark.parametrize("include_usage", [False, True])
def test_chunks_add_up_to_the_whole(include_usage: bool) -> None:
    chunks = [ChatCompletionChunk.model_validate(chunk) for chunk in answer("yes").chunks(include_usage)]
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == "yes"
    assert [c.choices[0].finish_reason for c in chunks if c.choices] == [None, "stop"]
    assert [c.usage.total_tokens for c in chunks if c.usage] == [13] * include_usage


@pytest.mark.parametrize(("stop", "left"), [(["b"], "a"), (["c", "bc"], "a"), (["z"], "abc"), ([""], "abc")])
def test_texts_of_stop_are_no_part_of_the_answer(stop: list[str], left: str) -> None:
    assert answer("abc", stop=stop).whole()["choices"][0]["message"]["content"] == left


def test_tool_calls_are_read() -> None:
    choice = ChatCompletion.model_validate(answer(f"so: {CALL}{CALL}", with_tools=True).whole()).choices[0]
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", "so:")
    calls = choice.message.tool_calls or []
    assert len({call.id for call in calls}) == 2
    assert all(call.type == "function" and call.function.name == "add" for call in calls)
    assert all(call.type == "function" and json.loads(call.function.arguments) == {"a": 1} for call in calls)
    chunk = ChatCompletionChunk.model_validate(next(answer(CALL, with_tools=True).chunks(False)))
    assert [call.index for call in chunk.choices[0].delta.tool_calls or []] == [0]


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>{</tool_call>",
        '<tool_call>{"name": 3, "arguments": {}}</tool_call>',
        "<tool_call>",
        CALL + "<tool_call>7",
    ],
)
def test_a_call_that_is_none_stays_a_text(text: str) -> None:
    message = answer(text, with_tools=True).whole()["choices"][0]["message"]
    assert message["content"] == text
    assert "tool_calls" not in message


def test_without_tools_a_call_is_a_text() -> None:
    assert answer(CALL).whole()["choices"][0]["message"]["content"] == CALL
