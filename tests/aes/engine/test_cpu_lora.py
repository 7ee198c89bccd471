"""Tokens grouped by adapter: the same numbers as one product a token, and as vLLM's own path."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from aes.engine import cpu_lora
from aes.engine.cpu_lora import Grouping

SLOTS, RANK, INPUTS = 6, 4, 12
SLICES = {"one": (10,), "qkv": (8, 2, 2), "gate_up": (9, 9)}
OWNERS = {
    "nobody": [-1, -1, -1],
    "no tokens": [],
    "one adapter": [3] * 7,
    "one token each": [4, 0, 2, 5, 1, 3],
    "some without": [-1, 2, -1, 2, 5, 5, -1, 0],
    "far apart": [5, 0, 5, 0],
    "a prompt among replies": [1] * 90 + [0, 2, 3, 4, 5, 0, 2, 3, 4, 5],
    "two prompts and nobody": [1] * 80 + [-1] * 3 + [4] * 70 + [0, 2, 3],
    "prompts alone": [0] * 60 + [4] * 50,
}
DTYPES = [torch.float32, torch.bfloat16]


class Layer:
    """Random factors, inputs and outputs of one linear layer."""

    def __init__(self, tokens: int, dtype: torch.dtype, slices: Sequence[int]) -> None:
        luck = torch.Generator().manual_seed(tokens)

        def random(*shape: int) -> Tensor:
            return torch.randn(*shape, generator=luck).to(dtype)

        self.slices = slices
        self.a = tuple(random(SLOTS, 1, RANK, INPUTS) for _ in slices)
        self.b = tuple(random(SLOTS, 1, size, RANK) for size in slices)
        self.x = random(tokens, INPUTS)
        self.y = random(tokens, sum(slices))

    def exact(self, owners: Sequence[int], scale: float) -> Tensor:
        """One token at a time, in double precision."""
        y = self.y.double()
        for token, slot in enumerate(owners):
            if slot >= 0:
                made = [b[slot, 0].double() @ a[slot, 0].double() @ self.x[token].double() for a, b in self.factors]
                y[token] += scale * torch.cat(made)
        return y

    @property
    def factors(self) -> list[tuple[Tensor, Tensor]]:
        return list(zip(self.a, self.b, strict=True))


def assert_same(actual: Tensor, expected: Tensor, dtype: torch.dtype) -> None:
    """The same but for a few roundings of sums that are about 7 in size."""
    part, size = {torch.float32: (1e-5, 1e-5), torch.bfloat16: (0.02, 0.1)}[dtype]
    torch.testing.assert_close(actual, expected, rtol=part, atol=size, check_dtype=False)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("slices", SLICES.values(), ids=SLICES.keys())
@pytest.mark.parametrize("owners", OWNERS.values(), ids=OWNERS.keys())
def test_each_token_gets_its_adapter(owners: list[int], slices: tuple[int, ...], dtype: torch.dtype) -> None:
    layer = Layer(len(owners), dtype, slices)
    expected, before = layer.exact(owners, 0.5), layer.y.clone()
    grouping = Grouping.of(torch.tensor(owners, dtype=torch.long))
    grouping.add(layer.y, layer.x, layer.a, layer.b, scale=0.5)
    assert_same(layer.y, expected, dtype)
    free = torch.tensor(owners, dtype=torch.long) < 0
    assert torch.equal(layer.y[free], before[free])


@given(st.lists(st.integers(-1, SLOTS - 1), max_size=120), st.integers(0, SLOTS - 1), st.integers(0, 200))
def test_every_token_is_served_once(owners: list[int], reader: int, prompt: int) -> None:
    owners = owners + [reader] * prompt
    grouping = Grouping.of(torch.tensor(owners, dtype=torch.long))
    served = grouping.tokens.tolist() + [int(token) for _, tokens in grouping.longer for token in tokens]
    assert sorted(served) == [token for token, slot in enumerate(owners) if slot >= 0]
    assert all(owners[token] == slot for slot, tokens in grouping.longer for token in tokens.tolist())
    assert len(grouping.batched) <= sum(slot >= 0 for slot in owners) + SLOTS * (
        cpu_lora._APART + cpu_lora._FEWEST_APART
    )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_numbers_do_not_depend_on_the_company(dtype: torch.dtype) -> None:
    """To the bit, since a run whose schedule is fixed shall give the same centre whatever was decoded together."""
    luck = torch.Generator().manual_seed(1)
    a = torch.randn(SLOTS, 1, 8, 96, generator=luck).to(dtype)
    b = torch.randn(SLOTS, 1, 64, 8, generator=luck).to(dtype)
    x = torch.randn(1, 96, generator=luck).to(dtype)
    found = set()
    for owners in (
        [],
        [0],
        [2],
        [2, 2],
        [2] * 15,
        [0, 1, 3, 4, 5],
        [0, 1, 2, 2, 5],
        [2] * 90,
        [0] * 90,
        [2] * 90 + [1],
    ):
        y = torch.zeros(len(owners) + 1, 64, dtype=dtype)
        rows = torch.cat([torch.randn(len(owners), 96, generator=luck).to(dtype), x])
        Grouping.of(torch.tensor([*owners, 2])).add(y, rows, (a,), (b,))
        found.add(tuple(y[-1].tolist()))
    assert len(found) == 1


def test_a_prompt_does_not_fill_up_the_others() -> None:
    grouping = Grouping.of(torch.tensor(OWNERS["a prompt among replies"]))
    assert (grouping.depth, [slot for slot, _ in grouping.longer]) == (4, [1])
    assert grouping.slots == slice(0, 6)


class PunicaWrapperCPU:
    """What `install` looks at in vLLM's wrapper; its own way marks the output."""

    token_lora_indices = torch.tensor([0, 1])

    def add_lora_linear(
        self, y: Tensor, x: Any, lora_a_stacked: Any, lora_b_stacked: Any, scale: float, output_slices: Any, **_: Any
    ) -> None:
        y.fill_(7)

    def update_metadata(self, owners: list[int]) -> None:
        self.token_lora_indices = torch.tensor(owners)


def runner_of(*wrappers: object, eager: bool = True) -> Any:
    mapping = {str(number): wrapper for number, wrapper in enumerate(wrappers)}
    manager = SimpleNamespace(_adapter_manager=SimpleNamespace(punica_wrapper_mapping=mapping))
    return SimpleNamespace(model_config=SimpleNamespace(enforce_eager=eager), lora_manager=manager)


def call(wrapper: Any, layer: Layer, **options: Any) -> Tensor:
    y = layer.y.clone()
    wrapper.add_lora_linear(y, layer.x, layer.a, layer.b, 1.0, layer.slices, **options)
    return y


def test_installed_it_follows_the_batch() -> None:
    wrapper, layer = PunicaWrapperCPU(), Layer(2, torch.float32, SLICES["qkv"])
    assert cpu_lora.install(runner_of(wrapper, wrapper))
    for owners in ([0, 1], [5, -1]):
        wrapper.update_metadata(owners)
        for _ in range(2):
            assert_same(call(wrapper, layer), layer.exact(owners, 1.0), torch.float32)


def test_unusual_calls_go_vllms_way() -> None:
    wrapper, layer = PunicaWrapperCPU(), Layer(2, torch.float32, SLICES["one"])
    assert cpu_lora.install(runner_of(wrapper))
    assert (call(wrapper, layer, buffer=None) == 7).all()
    layer.x = layer.x.bfloat16()
    assert (call(wrapper, layer) == 7).all()


class PunicaWrapperGPU(PunicaWrapperCPU):
    """Another platform's."""


class Changed(PunicaWrapperCPU):
    """Another version's."""

    def add_lora_linear(self, x: Any, y: Any) -> None:  # type: ignore[override]
        pass


Changed.__name__ = "PunicaWrapperCPU"


@pytest.mark.parametrize(
    "runner",
    [
        runner_of(PunicaWrapperGPU()),
        runner_of(Changed()),
        runner_of(PunicaWrapperCPU(), PunicaWrapperGPU()),
        runner_of(),
        SimpleNamespace(model_config=SimpleNamespace(enforce_eager=True), lora_manager=object()),
    ],
    ids=["another platform", "another version", "one of two", "none", "another manager"],
)
def test_what_is_not_known_is_left_and_said(runner: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert not cpu_lora.install(runner)
    assert "vLLM's own path" in caplog.text
    for wrapper in getattr(
        getattr(runner.lora_manager, "_adapter_manager", None), "punica_wrapper_mapping", {}
    ).values():
        assert not vars(wrapper)


def test_a_compiled_model_is_left() -> None:
    wrapper = PunicaWrapperCPU()
    assert not cpu_lora.install(runner_of(wrapper, eager=False))
    assert not vars(wrapper)


@pytest.mark.vllm
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("slices", SLICES.values(), ids=SLICES.keys())
@pytest.mark.parametrize(
    "owners", [owners for owners in OWNERS.values() if owners], ids=[k for k, v in OWNERS.items() if v]
)
@pytest.mark.parametrize("reading", [False, True], ids=["decode", "prefill"])
def test_the_same_as_vllms_own(owners: list[int], slices: tuple[int, ...], dtype: torch.dtype, reading: bool) -> None:
    """On tokens that have an adapter; vLLM's own path gives the others one too, where the batch is mixed."""
    from vllm.lora.layers import LoRAMapping
    from vllm.lora.punica_wrapper.punica_cpu import PunicaWrapperCPU as Theirs

    theirs, ours = (Theirs(256, max_batches=256, device="cpu") for _ in range(2))
    layer = Layer(len(owners), dtype, slices)
    assert cpu_lora.install(runner_of(ours))
    ids = [slot + 1 for slot in owners]
    for one in (theirs, ours):
        one.update_metadata(
            LoRAMapping(tuple(ids), tuple(ids), is_prefill=reading), list(range(1, SLOTS + 1)), SLOTS, 100
        )
    owned = torch.tensor(owners) >= 0
    assert_same(call(ours, layer)[owned], call(theirs, layer)[owned], dtype)
    assert torch.equal(call(ours, layer)[~owned], layer.y[~owned])
