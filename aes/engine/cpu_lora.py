"""Many adapters in one batch on a CPU: products over each adapter's tokens, in place of vLLM's copies for each token.

vLLM's own path copies the A and B of a token's adapter once for every token: work and memory grow with tokens times the
size of a matrix. Here tokens are grouped by adapter, once for each forward step. The first `depth` tokens of every
adapter make one batched product (x A^T) B^T; an adapter with more of them (a prompt being read) has one more product
for the rest. Tokens without an adapter are left alone; in vLLM 0.32 they get the last slot's where others have one.
"""

from __future__ import annotations

import inspect
import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor

log = logging.getLogger(__name__)

_APART = 64
"""What a product of its own costs, in rows of the batched one: measured 20 to 50 in float32, 60 to 200 in bfloat16."""

_FEWEST, _FEWEST_APART = 4, 12
"""Rows from which on a token's numbers are the same to the bit whatever the other rows are, batched and apart.

Below, MKL takes other kernels for float32 (apart, its threads share the rows). So replies do not depend on company.
"""

_CALL = ["y", "x", "lora_a_stacked", "lora_b_stacked", "scale", "output_slices"]
"""How vLLM 0.32 calls what is replaced."""


@dataclass(frozen=True, slots=True)
class Grouping:
    """The tokens of one forward step by adapter.

    Attributes:
        slots: the adapters of the batched product, as an index into a stack of weights.
        depth: tokens of each adapter in it.
        batched: [adapters * depth] those tokens, adapter by adapter; short ones are filled up with any token.
        real: where in `batched` the tokens are that count; None where all do.
        tokens: the tokens that count.
        longer: slots of adapters with more than `depth` tokens, and the rest of their tokens.
    """

    slots: slice | Tensor
    depth: int
    batched: Tensor
    real: Tensor | None
    tokens: Tensor
    longer: tuple[tuple[int, Tensor], ...]

    @classmethod
    def of(cls, owners: Tensor) -> Self:
        """Group by `owners` [tokens], each token's slot or -1."""
        counts = torch.bincount(owners + 1, minlength=1)
        order = owners.argsort(stable=True)[counts[0] :]
        present = counts[1:].nonzero().flatten()
        slots: slice | Tensor = present
        low, high = (int(present[0]), int(present[-1]) + 1) if len(present) else (0, 0)
        if 4 * len(present) >= 3 * (high - low):  # a few idle ones cost less than copies of all others
            slots, present = slice(low, high), torch.arange(low, high)
        counts = counts[1:][present]
        ends = counts.cumsum(0)
        starts = ends - counts
        depth = _depth(counts.tolist())
        column = torch.arange(depth)
        counted = (column < counts[:, None]).flatten()
        batched = order[(starts[:, None] + column).flatten().clamp(max=max(len(order) - 1, 0))]
        rest = zip(present.tolist(), (starts + depth).tolist(), ends.tolist(), strict=True)
        return cls(
            slots,
            depth,
            batched,
            None if bool(counted.all()) else counted.nonzero().flatten(),
            batched[counted],
            tuple((slot, order[start:end]) for slot, start, end in rest if start < end),
        )

    def add(self, y: Tensor, x: Tensor, a: Sequence[Tensor], b: Sequence[Tensor], scale: float = 1.0) -> None:
        """Add scale * (x A^T) B^T to y, each token with its adapter's factors.

        Shapes: y [tokens, outputs of all slices], x [tokens, inputs]; for each slice, of which packed modules have
        several, a [slots, 1, rank, inputs] and b [slots, 1, outputs, rank].
        """
        if len(self.tokens):
            rows = x.index_select(0, self.batched).view(-1, self.depth, x.shape[1])
            change = _products(rows, [self._take(one) for one in a], [self._take(one) for one in b]).flatten(0, 1)
            change = change if self.real is None else change.index_select(0, self.real)
            y.index_add_(0, self.tokens, change, alpha=scale)
        for slot, tokens in self.longer:
            change = _products(x.index_select(0, tokens), [one[slot, 0] for one in a], [one[slot, 0] for one in b])
            y.index_add_(0, tokens, change, alpha=scale)

    def _take(self, stack: Tensor) -> Tensor:
        return (stack[self.slots] if isinstance(self.slots, slice) else stack.index_select(0, self.slots))[:, 0]


class Grouped:
    """Takes the place of the product for linear layers in one of vLLM's `PunicaWrapperCPU`."""

    def __init__(self, wrapper: Any) -> None:
        self._wrapper = wrapper
        self._theirs = wrapper.add_lora_linear
        self._update = wrapper.update_metadata
        self._grouping: Grouping | None = None
        wrapper.add_lora_linear = self.add_lora_linear
        wrapper.update_metadata = self.update_metadata

    def update_metadata(self, *arguments: Any, **options: Any) -> None:
        """Called when the tokens of a step, or the slots of their adapters, differ from those of the step before."""
        self._grouping = None
        self._update(*arguments, **options)

    def add_lora_linear(
        self, y: Tensor, x: Tensor, a: Sequence[Tensor], b: Sequence[Tensor], scale: float, slices: Sequence[int],
        **options: Any,
    ) -> None:  # fmt: skip
        """Add the adapters' part to the output y of a linear layer, in place; unusual calls go vLLM's way."""
        if options or y.shape[1] != sum(slices) or not x.dtype == y.dtype == a[0].dtype == b[0].dtype:
            self._theirs(y, x, a, b, scale, slices, **options)
            return
        if self._grouping is None:
            self._grouping = Grouping.of(self._wrapper.token_lora_indices)
        self._grouping.add(y, x, a, b, scale)


def install(runner: Any) -> bool:
    """Have the CPU wrappers of vLLM's model runner group; returns whether they do.

    Compiled models are left as they are, since their graph holds vLLM's own path. So is a vLLM whose inside is not what
    this was written for, with a word in the log: it is slower, and its results are the same.
    """
    if not runner.model_config.enforce_eager:
        return False
    manager = getattr(runner.lora_manager, "_adapter_manager", None)
    wrappers = list(getattr(manager, "punica_wrapper_mapping", {}).values())
    if wrappers and all(map(_grouped, wrappers)):
        return True
    if not wrappers or not all(map(_fits, wrappers)):
        log.warning("adapters take vLLM's own path on the CPU, which is slower: it is not that of vLLM 0.32")
        return False
    for wrapper in {id(wrapper): wrapper for wrapper in wrappers}.values():
        Grouped(wrapper)
    return True


def _grouped(wrapper: Any) -> bool:
    return isinstance(getattr(wrapper.add_lora_linear, "__self__", None), Grouped)


def _fits(wrapper: Any) -> bool:
    return (
        type(wrapper).__name__ == "PunicaWrapperCPU"
        and all(hasattr(wrapper, name) for name in ("add_lora_linear", "update_metadata", "token_lora_indices"))
        and list(inspect.signature(wrapper.add_lora_linear).parameters)[: len(_CALL)] == _CALL
    )


def _products(x: Tensor, a: Sequence[Tensor], b: Sequence[Tensor]) -> Tensor:
    """(x A^T) B^T of every slice, side by side; for a matrix, or for a stack of matrices."""
    found = [x @ a_one.mT @ b_one.mT for a_one, b_one in zip(a, b, strict=True)]
    return found[0] if len(found) == 1 else torch.cat(found, dim=-1)


def _depth(counts: Sequence[int]) -> int:
    """How many tokens of each adapter to take into the batched product: what costs least in rows."""
    least = _FEWEST if len(counts) > 1 else _FEWEST_APART

    def cost(depth: int) -> float:
        rests = [count - depth for count in counts if count > depth]
        if any(rest < _FEWEST_APART for rest in rests):
            return math.inf
        return depth * len(counts) + sum(rests) + _APART * len(rests)

    return min({0} | {max(count, least) for count in counts}, key=cost)
