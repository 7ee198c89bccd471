"""What a request for a chat completion says, read from its JSON: what is honoured, what is ignored, what is refused.

Honoured   messages, max_tokens and max_completion_tokens, temperature, seed, stop, stream, stream_options, tools,
           tool_choice "auto" or "none", response_format, and vLLM's structured_outputs (json, regex, choice)
Ignored    what can't change a reply here: model (the address says who answers), user, metadata, store, service_tier,
           safety_identifier, prompt_cache_key, prompt_cache_retention, parallel_tool_calls, reasoning_effort, verbosity
Refused    n above 1, and whatever else would change a reply, unless it asks for what is done anyway (top_p 1, penalties
           0, logprobs false, no logit_bias, the modality "text"); every parameter not named here
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from aes.config import nearest
from aes.endpoint.refusal import Refusal
from aes.structured import Choice, JsonSchema, Regex, Structured
from aes.types import Message

IGNORED = frozenset({
    "model", "user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key",
    "prompt_cache_retention", "parallel_tool_calls", "reasoning_effort", "verbosity",
})  # fmt: skip
"""Parameters that can't change a reply here."""

AS_IT_IS: Mapping[str, Any] = {
    "n": 1,
    "top_p": 1,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "logprobs": False,
    "top_logprobs": 0,
    "logit_bias": {},
    "modalities": ["text"],
}
"""Parameters that may only say what is done anyway."""

_SHOWN = 80


class _Read(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Said(BaseModel):
    """One message; what a member can't read (names, refusals, audio) is left out."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[dict[str, Any]] | None = None
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: str | None = None

    @property
    def message(self) -> Message:
        """The message in the words of aes. Raises Refusal for what is not text."""
        message: Message = {"role": "system" if self.role == "developer" else self.role, "content": self._text()}
        if self.tool_calls:
            message["tool_calls"] = [_call(call) for call in self.tool_calls]
        if self.tool_call_id is not None:
            message["tool_call_id"] = self.tool_call_id
        return message

    def _text(self) -> str:
        if not isinstance(self.content, list):
            return self.content or ""
        if strange := [part.get("type") for part in self.content if not isinstance(part.get("text"), str)]:
            raise Refusal(400, "not_text", f"messages: a part of type {strange[0]!r} (send text)", "messages")
        return "".join(part["text"] for part in self.content)


class StreamOptions(_Read):
    """How a reply is streamed."""

    include_usage: bool = False
    include_obfuscation: bool = False


class StructuredOutputs(_Read):
    """vLLM's own words for the form of a reply; one of them."""

    json_: dict[str, Any] | str | None = Field(None, alias="json")
    regex: str | None = None
    choice: list[str] | None = Field(None, min_length=1)

    @property
    def form(self) -> Structured | None:
        """The form that is asked for. Raises Refusal where it is more than one."""
        forms: list[Structured] = []
        if self.json_ is not None:
            forms.append(JsonSchema(_schema(self.json_)))
        if self.regex is not None:
            forms.append(Regex(self.regex))
        if self.choice is not None:
            forms.append(Choice(tuple(self.choice)))
        if len(forms) > 1:
            raise Refusal(400, "bad_parameter", "structured_outputs: json, regex or choice, one of them")
        return forms[0] if forms else None


class Asked(_Read):
    """A request for a chat completion."""

    messages: list[Said] = Field(min_length=1)
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    temperature: float | None = Field(None, ge=0, allow_inf_nan=False)
    seed: int | None = Field(None, ge=-(2**63), lt=2**63)
    stop: str | list[str] | None = None
    stream: bool = False
    stream_options: StreamOptions = StreamOptions()
    tools: list[dict[str, Any]] = []
    tool_choice: Literal["auto", "none"] = "auto"
    response_format: dict[str, Any] | None = None
    structured_outputs: StructuredOutputs | None = None

    @model_validator(mode="before")
    @classmethod
    def _without_the_rest(cls, values: Any) -> Any:
        """Leave out what says nothing: null, what is ignored, and what is done anyway."""
        if not isinstance(values, dict):
            return values
        for name, usual in AS_IT_IS.items():
            if (given := values.get(name, usual)) not in (usual, None):
                raise Refusal(400, "unsupported_parameter", f"{name} {_short(given)}: only {usual!r} is served", name)
        left_out = IGNORED | AS_IT_IS.keys()
        return {name: value for name, value in values.items() if value is not None and name not in left_out}

    @property
    def stops(self) -> tuple[str, ...]:
        """Texts that end the reply."""
        return (self.stop,) if isinstance(self.stop, str) else tuple(self.stop or ())

    @property
    def tools_told(self) -> list[dict[str, Any]]:
        """The tools that the model may call."""
        return self.tools if self.tool_choice == "auto" else []

    @property
    def form(self) -> Structured | None:
        """The form that the reply must have. Raises Refusal."""
        if self.structured_outputs is not None:
            return self.structured_outputs.form
        match self.response_format:
            case None | {"type": "text"}:
                return None
            case {"type": "json_object"}:
                return JsonSchema({"type": "object"})
            case {"type": "json_schema", "json_schema": {"schema": dict(schema)}}:
                return JsonSchema(schema)
            case other:
                raise Refusal(
                    400,
                    "unsupported_parameter",
                    f"response_format {_short(other)}: text, json_object or json_schema with a schema",
                    "response_format",
                )


def read(content: bytes) -> Asked:
    """A request's body. Raises Refusal with the parameter that is wrong."""
    try:
        return Asked.model_validate(json.loads(content))
    except (ValueError, RecursionError) as error:
        if not isinstance(error, ValidationError):
            raise Refusal(400, "bad_json", f"the body is no JSON: {error}") from None
        problem = error.errors(include_url=False, include_context=False)[0]
    name = ".".join(map(str, problem["loc"]))
    if problem["type"] == "extra_forbidden":
        known = nearest(name, Asked.model_fields)
        raise Refusal(400, "unknown_parameter", f"unknown parameter {name[:_SHOWN]!r}{known}", name)
    message = problem["msg"] if problem["type"] == "missing" else f"{problem['msg']}, is {_short(problem['input'])}"
    raise Refusal(400, "bad_parameter", f"{name or 'the body'}: {message}", name or None)


def _call(call: dict[str, Any]) -> dict[str, Any]:
    """A tool call with its arguments as an object, as chat templates want it."""
    match call:
        case {"function": {"name": str(name), "arguments": str(arguments)}}:
            try:
                return {**call, "function": {"name": name, "arguments": json.loads(arguments)}}
            except (ValueError, RecursionError):
                return call
    raise Refusal(400, "bad_parameter", f"messages: {_short(call)} is no tool call", "messages")


def _schema(value: dict[str, Any] | str) -> dict[str, Any]:
    try:
        schema = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        schema = None
    if not isinstance(schema, dict):
        raise Refusal(400, "bad_parameter", f"structured_outputs.json {_short(value)}: no JSON schema")
    return schema


def _short(value: object) -> str:
    return f"{value!r:.{_SHOWN}}"
