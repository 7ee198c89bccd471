"""Messages to token ids for a Hugging Face model: its own tokenizer and chat template."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from aes.errors import DataError, GenerationFailed
from aes.types import Message, Tool

_REMEMBERED = 1024
"""Texts whose token ids are kept: members of a pair are told much the same. At 4 bytes a token, some MiB at most."""


class ChatCodec:
    """A tokenizer with its chat template; a model without one gets its messages as plain paragraphs."""

    def __init__(self, tokenizer: Any, end_ids: frozenset[int]) -> None:
        self._tokenizer = tokenizer
        self._encoded = lru_cache(_REMEMBERED)(self._encode)
        self.end_ids = end_ids

    @classmethod
    def load(cls, model: str) -> ChatCodec:
        """Read tokenizer and end tokens of a model folder or name. Blocks; raises DataError."""
        from transformers import AutoTokenizer, GenerationConfig

        try:
            tokenizer = AutoTokenizer.from_pretrained(model, trust_remote_code=False)
        except Exception as error:  # broken files make transformers raise whatever it comes across
            raise DataError(f"model {model}: no usable tokenizer ({_first_line(error)}); name another model") from None
        ends = {tokenizer.eos_token_id}
        if Path(model, "generation_config.json").is_file():
            declared = GenerationConfig.from_pretrained(model).eos_token_id
            ends |= set(declared if isinstance(declared, list) else [declared])
        return cls(tokenizer, frozenset(end for end in ends if end is not None))

    def render(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> str:
        """The chat template's text with the generation prompt at its end.

        Raises GenerationFailed for tools where the template doesn't write calls as `<tool_call>{JSON}</tool_call>` (as
        Hermes and Qwen do): nobody could read the model's calls then. So too for messages that the template refuses.
        """
        from jinja2 import TemplateError

        template = self._tokenizer.chat_template
        if tools and "<tool_call>" not in str(template):
            raise GenerationFailed("tools: this model's chat template has no <tool_call> (send none, or take another)")
        if template is None:
            return "\n\n".join(m["content"] for m in messages) + "\n\n"
        options: dict[str, Any] = {"tools": list(tools)} if tools else {}
        try:
            text: str = self._tokenizer.apply_chat_template(
                list(messages), tokenize=False, add_generation_prompt=True, **options
            )
        except TemplateError as error:
            raise GenerationFailed(f"messages: the model's chat template refuses them ({_first_line(error)})") from None
        return text

    def encode(self, text: str) -> list[int]:
        """Token ids; special tokens only where the text spells them."""
        return self._encoded(text).tolist()

    def decode(self, token_ids: Sequence[int]) -> str:
        """The reply's text, its end tokens left out."""
        kept = [token for token in token_ids if token not in self.end_ids]
        text: str = self._tokenizer.decode(kept, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return text

    def _encode(self, text: str) -> array[int]:
        return array("I", self._tokenizer.encode(text, add_special_tokens=False))


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:200]
