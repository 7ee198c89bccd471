"""A member's reply in the shape of OpenAI's chat completions, whole or as a stream of chunks."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from aes.types import Completion

MODEL = "member"
"""What the one model is called that an episode's address offers."""

_CALL = re.compile(r"<tool_call>(.*?)(?:</tool_call>|$)", re.DOTALL)


@dataclass(frozen=True)
class Answer:
    """One reply. `name` is its id; texts of `stop` are no part of it; tool calls are read where tools were told."""

    name: str
    reply: Completion
    stop: Sequence[str] = ()
    with_tools: bool = False

    def whole(self) -> dict[str, Any]:
        """The answer where nothing is streamed."""
        message, finish_reason = self._message()
        choice = {"index": 0, "message": message, "finish_reason": finish_reason, "logprobs": None}
        return {**self._head("chat.completion"), "choices": [choice], "usage": self._usage()}

    def chunks(self, include_usage: bool) -> Iterator[dict[str, Any]]:
        """The answer as a stream: the reply comes in one piece, for members answer whole."""
        message, finish_reason = self._message()
        for number, call in enumerate(message.get("tool_calls", ())):
            call["index"] = number
        for delta, reason in ((message, None), ({}, finish_reason)):
            choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
            yield {**self._head("chat.completion.chunk"), "choices": [choice]}
        if include_usage:
            yield {**self._head("chat.completion.chunk"), "choices": [], "usage": self._usage()}

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.name, "object": kind, "created": int(time.time()), "model": MODEL}

    def _message(self) -> tuple[dict[str, Any], str]:
        text = self._text()
        message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
        calls = _calls(text, self.name) if self.with_tools else []
        if not calls:
            return message, self.reply.finish_reason
        before = text[: text.index("<tool_call>")].strip()
        return message | {"content": before or None, "tool_calls": calls}, "tool_calls"

    def _text(self) -> str:
        text = self.reply.text
        return text[: min((at for word in self.stop if word and (at := text.find(word)) >= 0), default=len(text))]

    def _usage(self) -> dict[str, int]:
        told, said = self.reply.prompt_tokens, len(self.reply.token_ids)
        return {"prompt_tokens": told, "completion_tokens": said, "total_tokens": told + said}


def models() -> dict[str, Any]:
    """The list of models: the member."""
    return {"object": "list", "data": [{"id": MODEL, "object": "model", "created": 0, "owned_by": "aes"}]}


def _calls(text: str, name: str) -> list[dict[str, Any]]:
    """The calls in a reply, none where one of them can't be read: it is then a text like any other."""
    calls = []
    for number, found in enumerate(_CALL.findall(text)):
        try:
            match json.loads(found):
                case {"name": str(function), "arguments": {**arguments}}:
                    told = {"name": function, "arguments": json.dumps(arguments)}
                    calls.append({"id": f"call-{name}-{number}", "type": "function", "function": told})
                case _:
                    return []
        except (ValueError, RecursionError):
            return []
    return calls
