"""Imitation: how the pocket policy learns to shop before evolution strategies improve it.

The loss counts only what the shopper says. The first half of every batch are drills, which count no thought words, and
on them the last layer carries a random low-rank change of the size that ES will try: spelling and copying learn to
survive a perturbation, while the decisions stay as open to it as they are. The second half, undisturbed, teaches the
decisions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch.nn import functional
from transformers import LlamaForCausalLM

from envs.webshop.pocket.demonstrations import Demonstration
from envs.webshop.pocket.noise import LastLayerNoise

Progress = Callable[[str, float], None]
"""Told what is being done and how much of it is done, 0 to 1."""

IGNORED = -100
_BATCHES_SORTED_TOGETHER = 16


@dataclass(frozen=True, slots=True)
class Lessons:
    """How long and how hard to imitate; `noise` is the deviation of the random changes, in ES's sigma."""

    steps: int = 500
    batch: int = 24
    rate: float = 4e-3
    rate_of_matrices: float = 4e-3
    noise: float = 1.0
    seed: int = 0


def imitate(
    model: LlamaForCausalLM,
    drills: Sequence[Demonstration],
    examples: Sequence[Demonstration],
    lessons: Lessons,
    progress: Progress | None = None,
) -> list[float]:
    """Train the model in place; return the loss of every step.

    Muon for the matrices of the layers, AdamW for the rest, with a short warm-up, then a cosine to zero. The same
    for one seed and one number of torch threads.
    """
    generator = torch.Generator().manual_seed(lessons.seed)
    noise = LastLayerNoise(model, generator)
    optimizers = _optimizers(model, lessons)
    half = lessons.batch // 2
    batches = zip(_rows(drills, half, generator), _rows(examples, half, generator), range(lessons.steps), strict=False)
    losses = []
    model.train()
    for drill, example, step in batches:
        tokens, targets = _pad([*drill, *example])
        with noise.on_half(half, lessons.noise * min(1.0, 2 * step / lessons.steps)):
            loss = _loss(model, tokens, targets)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = group["peak"] * _warmth(step, lessons.steps)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        losses.append(float(loss.detach()))
        if progress is not None:
            progress("imitating a scripted shopper", (step + 1) / lessons.steps)
    model.eval()  # type: ignore[no-untyped-call]
    return losses


def _loss(model: LlamaForCausalLM, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    # Where the processor multiplies in bfloat16 a step takes a third of the time, and learns the same.
    with torch.autocast("cpu", torch.bfloat16, enabled=torch.cpu._is_avx512_bf16_supported()):
        hidden = model.model(tokens[:, :-1]).last_hidden_state
        counted = targets[:, 1:] != IGNORED
        logits = hidden[counted] @ model.lm_head.weight.T
    return functional.cross_entropy(logits.float(), targets[:, 1:][counted])


def _optimizers(model: LlamaForCausalLM, lessons: Lessons) -> list[torch.optim.Optimizer]:
    matrices = [p for p in model.model.layers.parameters() if p.ndim == 2]
    held = {id(p) for p in matrices}
    rest = [p for p in model.parameters() if id(p) not in held]
    adam, muon = lessons.rate, lessons.rate_of_matrices
    return [
        torch.optim.Muon(
            [{"params": matrices, "peak": muon}], lr=muon, weight_decay=0.0, adjust_lr_fn="match_rms_adamw"
        ),
        torch.optim.AdamW([{"params": rest, "peak": adam}], lr=adam, betas=(0.9, 0.98), weight_decay=0.01),
    ]


def _warmth(step: int, steps: int) -> float:
    warmup = max(1, steps // 20)
    return min((step + 1) / warmup, 0.5 * (1 + math.cos(math.pi * step / steps)))


def _rows(shown: Sequence[Demonstration], rows: int, generator: torch.Generator) -> Iterator[list[Demonstration]]:
    """Yield batches of so many rows for ever; neighbours in length share one, to pad little."""
    window = rows * _BATCHES_SORTED_TOGETHER
    while True:
        order = torch.randperm(len(shown), generator=generator).tolist()
        for start in range(0, len(order), window):
            block = sorted(order[start : start + window], key=lambda at: len(shown[at].tokens))
            for cut in torch.randperm(len(block) // rows, generator=generator).tolist():
                yield [shown[at] for at in block[cut * rows : (cut + 1) * rows]]


def _pad(shown: Sequence[Demonstration]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return tokens and targets, [batch, longest]."""
    width = max(len(one.tokens) for one in shown)
    tokens = torch.zeros(len(shown), width, dtype=torch.long)
    targets = torch.full((len(shown), width), IGNORED)
    for row, one in enumerate(shown):
        tokens[row, : len(one.tokens)] = said = torch.tensor(one.tokens)
        targets[row, : len(one.tokens)] = said.masked_fill(~torch.tensor(one.counted), IGNORED)
    return tokens, targets
