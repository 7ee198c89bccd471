"""Random models of known shapes, where only speed is measured: Llamas with another model's tokenizer."""

from __future__ import annotations

from pathlib import Path

SMOLLM2 = 49152
"""SmolLM2's vocabulary. The tokenizer has fewer words: what the model says beyond them has no text."""


def make_llama(like: Path, folder: Path, layers: int, vocabulary: int | None = None) -> None:
    """A Llama as wide as SmolLM2-135M, which has thirty layers; its vocabulary is the tokenizer's, if none is given."""
    import torch
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    tokenizer = AutoTokenizer.from_pretrained(like)
    config = LlamaConfig(
        vocab_size=vocabulary or len(tokenizer), hidden_size=576, intermediate_size=1536, num_hidden_layers=layers,
        num_attention_heads=9, num_key_value_heads=3, head_dim=64, max_position_embeddings=2048,
        tie_word_embeddings=True, dtype="bfloat16",
    )  # fmt: skip
    torch.manual_seed(0)
    LlamaForCausalLM(config).bfloat16().save_pretrained(folder)  # type: ignore[no-untyped-call]
    tokenizer.save_pretrained(folder)
