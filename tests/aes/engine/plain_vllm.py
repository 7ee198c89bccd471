"""Greedy replies of vLLM as anybody would use it: arguments are model and adapter folders, standard input token ids."""

from __future__ import annotations

import json
import sys


def main() -> None:
    from vllm import LLM, SamplingParams
    from vllm.inputs import TokensPrompt
    from vllm.lora.request import LoRARequest

    model, adapter = sys.argv[1:3]
    prompts = [TokensPrompt(prompt_token_ids=ids) for ids in json.load(sys.stdin)]
    llm = LLM(
        model, enable_lora=True, max_lora_rank=8, dtype="float32", max_model_len=256, enforce_eager=True,
        disable_log_stats=True,
    )  # fmt: skip
    replies = llm.generate(
        prompts,
        SamplingParams(temperature=0.0, max_tokens=16),
        lora_request=LoRARequest("a", 1, adapter),
        use_tqdm=False,
    )
    print("\nREPLIES " + json.dumps([list(reply.outputs[0].token_ids) for reply in replies]))


if __name__ == "__main__":
    main()
