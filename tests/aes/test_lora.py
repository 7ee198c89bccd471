"""The LoRA space: its layout, what it selects, and how A starts."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from aes import lora
from aes.config import Lora
from aes.engine.vllm import space_of
from aes.errors import ConfigError
from aes.lora import LoraSpace, Module

LINEARS = {
    "lm_head": (8, 100),
    **{
        f"model.layers.{n}.{part}": size
        for n in range(3)
        for part, size in {"self_attn.q_proj": (8, 8), "mlp.down_proj": (16, 8), "mlp.up_proj": (8, 16)}.items()
    },
}
MODULES = (Module("layers.0.up", 8, 16), Module("layers.0.down", 16, 8))

spaces = st.builds(
    LoraSpace,
    modules=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=4).map(
        lambda sizes: tuple(Module(f"layers.{i}.up", *size) for i, size in enumerate(sizes))
    ),
    rank=st.integers(1, 4),
    alpha=st.floats(0.5, 32),
    factors=st.sampled_from(["B", "AB"]),
)


@given(space=spaces)
def test_the_trained_factors_tile_theta(space: LoraSpace) -> None:
    basis = lora.random_basis(space, 0)
    theta = torch.arange(space.dim, dtype=torch.float32)
    named = space.tensors(theta, basis)
    trained = [t for name, t in named.items() if space.factors == "AB" or ".lora_B." in name]
    assert torch.equal(torch.cat([t.flatten() for t in trained]).sort().values, theta)
    for module in space.modules:
        a, b = (named[f"base_model.model.{module.path}.lora_{factor}.weight"] for factor in "AB")
        assert (a.shape, b.shape) == ((space.rank, module.inputs), (module.outputs, space.rank))


@given(space=spaces)
def test_tensors_are_views(space: LoraSpace) -> None:
    basis = lora.random_basis(space, 0)
    theta = torch.zeros(space.dim)
    for tensor in space.tensors(theta, basis).values():
        tensor.fill_(1)
    assert bool((theta == 1).all())
    assert space.factors == "AB" or all(bool((a == 1).all()) for a in basis.values())


@given(space=spaces)
def test_every_space_starts_at_the_base_model(space: LoraSpace) -> None:
    basis = lora.random_basis(space, 7)
    named = space.tensors(space.start(basis), basis)
    for module in space.modules:
        a, b = (named[f"base_model.model.{module.path}.lora_{factor}.weight"] for factor in "AB")
        assert torch.equal(a, basis[module.path])
        assert not b.any()


def test_dim_counts_the_trained_factors() -> None:
    assert LoraSpace(MODULES, 2, 2.0).dim == 2 * (16 + 8)
    assert LoraSpace(MODULES, 2, 2.0, "AB").dim == 2 * (16 + 8) + 2 * (8 + 16)


def test_select_all_leaves_the_head_alone() -> None:
    chosen = lora.select(LINEARS, ("all-linear",), None)
    assert [m.path for m in chosen] == [path for path in LINEARS if path != "lm_head"]
    assert chosen[1] == Module("model.layers.0.mlp.down_proj", 16, 8)


@pytest.mark.parametrize(("layers", "expected"), [((0,), {0}), ((-1,), {2}), ((0, -3), {0}), (None, {0, 1, 2})])
def test_select_by_name_and_layer(layers: tuple[int, ...] | None, expected: set[int]) -> None:
    chosen = lora.select(LINEARS, ("down_proj",), layers)
    assert {int(m.path.split(".")[2]) for m in chosen} == expected
    assert all(m.path.endswith("down_proj") for m in chosen)


@pytest.mark.parametrize(
    ("targets", "layers", "words"),
    [
        (("dwon_proj",), None, ["dwon_proj", "down_proj, q_proj, up_proj"]),
        (("lm_head",), None, ["lm_head", "down_proj"]),
        (("all-linear",), (3,), ["[3]", "0..2"]),
        (("all-linear",), (-4,), ["[-4]", "0..2"]),
        (("all-linear",), (), ["layers"]),
    ],
)
def test_select_says_what_there_is(targets: tuple[str, ...], layers: tuple[int, ...] | None, words: list[str]) -> None:
    with pytest.raises(ConfigError) as error:
        lora.select(LINEARS, targets, layers)
    assert all(word in str(error.value) for word in words)


def test_select_refuses_a_model_without_layers() -> None:
    with pytest.raises(ConfigError, match="no linear layers"):
        lora.select({"lm_head": (8, 100)}, ("all-linear",), None)


def test_alpha_is_the_rank_unless_set(tiny_model: object) -> None:
    from aes.engine.model import BaseModel

    model = BaseModel.inspect(str(tiny_model))
    assert space_of(model, Lora(rank=4)).alpha == 4.0
    assert space_of(model, Lora(rank=4, alpha=1.5)).alpha == 1.5


def test_a_random_basis_keeps_unit_rms() -> None:
    space = LoraSpace((Module("layers.0.up", 4096, 4),), 64, 1.0)
    basis = lora.random_basis(space, 3)
    projected = torch.randn(500, 4096) @ basis["layers.0.up"].T
    assert float(projected.pow(2).mean().sqrt()) == pytest.approx(1, abs=0.05)
    assert torch.equal(basis["layers.0.up"], lora.random_basis(space, 3)["layers.0.up"])
    assert not torch.equal(basis["layers.0.up"], lora.random_basis(space, 4)["layers.0.up"])


def inputs(rows: int, width: int, seed: int = 0) -> torch.Tensor:
    """Inputs with a strongly uneven spectrum, as activations have."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(rows, width, generator=generator) * torch.logspace(1, -1, width)


def activation_basis(x: torch.Tensor, rank: int) -> torch.Tensor:
    space = LoraSpace((Module("layers.0.up", x.shape[1], 4),), rank, 1.0)
    return lora.activation_basis(space, {"layers.0.up": (x.T @ x, len(x))})["layers.0.up"]


def test_an_activation_basis_projects_every_direction_to_unit_rms() -> None:
    x = inputs(400, 24)
    a = activation_basis(x, 6)
    assert a.shape == (6, 24)
    torch.testing.assert_close((x @ a.T).pow(2).mean(dim=0).sqrt(), torch.ones(6), rtol=1e-3, atol=1e-3)
    gram = a @ a.T
    torch.testing.assert_close(gram, torch.diag(gram.diag()), rtol=1e-3, atol=1e-4 * float(gram.max()))
    assert all(a.norm(dim=1)[i] <= a.norm(dim=1)[i + 1] for i, _ in pairwise(range(6)))


def test_an_activation_basis_spans_the_strongest_directions() -> None:
    x = inputs(300, 16)
    a = activation_basis(x, 3)
    _, _, right = torch.linalg.svd(x.double(), full_matrices=False)
    unit = (a / a.norm(dim=1, keepdim=True)).double()
    torch.testing.assert_close((unit * right[:3]).sum(dim=1).abs(), torch.ones(3, dtype=torch.float64))
    assert all(row[row.abs().argmax()] > 0 for row in a)


def test_directions_that_were_never_seen_are_not_blown_up() -> None:
    """Three inputs span three directions; the others have no rms to scale by and take the strongest one's."""
    x = inputs(3, 16)
    a = activation_basis(x, 8)
    norms = a.norm(dim=1)
    assert bool(norms.isfinite().all())
    assert float(norms[3:].max()) <= float(norms[:3].max()) * 1.001


def test_an_activation_basis_needs_inputs_and_width() -> None:
    with pytest.raises(ConfigError, match="no inputs seen"):
        activation_basis(torch.zeros(0, 16), 4)
    with pytest.raises(ConfigError, match=r"rank 32: .* reads only 16"):
        activation_basis(inputs(50, 16), 32)
