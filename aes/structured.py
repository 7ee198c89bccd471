"""The form that a reply must have: the engine then draws only tokens that keep to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class JsonSchema:
    """JSON that fits a schema, as text. A reply that is cut off at `max_tokens` may be no whole JSON."""

    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Regex:
    """Text that a regular expression matches as a whole."""

    pattern: str


@dataclass(frozen=True, slots=True)
class Choice:
    """One of these texts."""

    options: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse an empty choice with ValueError."""
        if not self.options:
            raise ValueError("a choice of nothing: give it at least one option")


Structured = JsonSchema | Regex | Choice
"""vLLM calls this structured outputs, and its options `json`, `regex` and `choice`."""
