"""Fixtures that all tests share. Nothing here reaches for a network."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("aes", deadline=None, derandomize=True)  # deterministic, on slow machines too
settings.load_profile("aes")
os.environ.setdefault("HF_HUB_OFFLINE", "1")


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a random Llama of two layers, a byte-level tokenizer and a chat template; made in a second."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("tiny-model")
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {word: number for number, word in enumerate(["<s>", "</s>", "<unk>", *alphabet])}
    spelling = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>"))
    spelling.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    spelling.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=spelling, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )
    tokenizer.chat_template = "{% for m in messages %}{{m.role}}: {{m.content}}</s>{% endfor %}assistant: "
    config = LlamaConfig(
        vocab_size=len(vocabulary),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=1024,
        bos_token_id=0,
        eos_token_id=1,
        dtype="float32",
    )
    torch.manual_seed(0)
    LlamaForCausalLM(config).save_pretrained(folder)  # type: ignore[no-untyped-call]
    tokenizer.save_pretrained(folder)
    return folder


def pytest_configure(config: pytest.Config) -> None:
    """Warnings are errors, save these of other people's imports."""
    for ignored in (r"ignore:`torch\.jit\.script_method` is deprecated:DeprecationWarning",):
        config.addinivalue_line("filterwarnings", ignored)
