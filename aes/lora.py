"""The LoRA space: which low-rank factors are trained, and where each lies in the flat vector theta.

LoRA (arXiv 2106.09685) adds (alpha / rank) * B A to a linear layer, A [rank, in] and B [out, rank]. With
factors = "B" the space holds every B and A stays as it started; with "AB" it holds both. B always starts at zero, so
theta_0 is the base model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch

from aes.errors import ConfigError

PEFT_PREFIX = "base_model.model."


@dataclass(frozen=True, slots=True)
class Module:
    """One adapted linear layer: its path in the Hugging Face model, and its width in and out."""

    path: str
    inputs: int
    outputs: int


@dataclass(frozen=True, slots=True)
class LoraSpace:
    """The layout of theta: the factors of every module, in order, A before B."""

    modules: tuple[Module, ...]
    rank: int
    alpha: float
    factors: str = "B"

    @property
    def dim(self) -> int:
        """The number of trained parameters."""
        return sum(rows * cols for _, rows, cols in self._layout())

    def tensors(self, theta: torch.Tensor, basis: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Cut theta [dim] into named PEFT factors; factors outside the space come from `basis` (path -> A).

        The tensors are views of theta and of the basis: cast or copy before changing either.
        """
        named = {f"{PEFT_PREFIX}{m.path}.lora_A.weight": basis[m.path] for m in self.modules}
        offset = 0
        for name, rows, cols in self._layout():
            named[name] = theta[offset : offset + rows * cols].view(rows, cols)
            offset += rows * cols
        return named

    def start(self, basis: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """theta_0 [dim]: A from the basis where A is trained, B zero."""
        theta = torch.zeros(self.dim, dtype=torch.float32)
        if self.factors == "AB":
            views = self.tensors(theta, basis)
            for module in self.modules:
                views[f"{PEFT_PREFIX}{module.path}.lora_A.weight"].copy_(basis[module.path])
        return theta

    def _layout(self) -> Iterator[tuple[str, int, int]]:
        for module in self.modules:
            if self.factors == "AB":
                yield f"{PEFT_PREFIX}{module.path}.lora_A.weight", self.rank, module.inputs
            yield f"{PEFT_PREFIX}{module.path}.lora_B.weight", module.outputs, self.rank


def select(
    linears: Mapping[str, tuple[int, int]], targets: tuple[str, ...], layers: tuple[int, ...] | None
) -> tuple[Module, ...]:
    """The modules of a model that the space adapts.

    `linears` maps module paths to (inputs, outputs); `targets` are last path parts ("down_proj") or "all-linear";
    `layers` are layer numbers, negative from the end, or None for all. Raises ConfigError when nothing matches.
    """
    blocks = {path: number for path in linears if (number := _layer_of(path)) is not None}
    depth = 1 + max(blocks.values(), default=-1)
    wanted = None if layers is None else {number % depth if -depth <= number < depth else None for number in layers}
    if wanted is not None and None in wanted:
        raise ConfigError(f"layers {list(layers or ())}: the model has layers 0..{depth - 1} (set layers accordingly)")
    known = {path.rsplit(".", 1)[-1] for path in blocks}
    names = known if targets == ("all-linear",) else set(targets)
    if not names <= known:
        unknown, choice = ", ".join(sorted(names - known)), ", ".join(sorted(known))
        raise ConfigError(f"targets {unknown}: the model has no such linear layers (set targets to some of {choice})")
    chosen = tuple(
        Module(path, *linears[path])
        for path, number in blocks.items()
        if path.rsplit(".", 1)[-1] in names and (wanted is None or number in wanted)
    )
    if not chosen:
        raise ConfigError(
            f"targets {', '.join(targets)}, layers {layers}: no linear layers match (set both accordingly)"
        )
    return chosen


def random_basis(space: LoraSpace, seed: int) -> dict[str, torch.Tensor]:
    """A ~ N(0, 1 / in): inputs of unit rms are projected to unit variance."""
    generator = torch.Generator().manual_seed(seed)
    return {
        m.path: torch.randn(space.rank, m.inputs, generator=generator, dtype=torch.float32) / m.inputs**0.5
        for m in space.modules
    }


def activation_basis(space: LoraSpace, moments: Mapping[str, tuple[torch.Tensor, int]]) -> dict[str, torch.Tensor]:
    """A from activations: the top right singular vectors of each module's inputs, scaled to unit rms projection.

    `moments` maps a path to (sum of x x^T [in, in], number of inputs x). The idea is EVA's (arXiv 2410.07170); the
    scaling makes one sigma mean the same in every module. Signs are fixed (largest entry positive), since singular
    vectors come with either. Raises ConfigError where there were no inputs, or not as many directions as the rank.
    """
    basis = {}
    for module in space.modules:
        if space.rank > module.inputs:
            raise ConfigError(f"rank {space.rank}: {module.path} reads only {module.inputs} inputs (lower rank)")
        gram, count = moments.get(module.path, (torch.empty(0), 0))
        if count == 0:
            raise ConfigError(f"basis 'activations': no inputs seen at {module.path} (use basis='random')")
        basis[module.path] = _whitening(gram.double() / count, space.rank)
    return basis


def _whitening(covariance: torch.Tensor, rank: int) -> torch.Tensor:
    """The top eigenvectors as rows [rank, in], each over the rms of the inputs along it.

    A direction that the inputs hardly had is scaled like the strongest: its own rms would blow it up.
    """
    values, vectors = torch.linalg.eigh(covariance)
    top, energy = vectors.flip(1)[:, :rank].T, values.flip(0)[:rank]
    rms = torch.where(energy > 1e-6 * energy[0], energy, energy[0]).clamp_min(1e-12).sqrt().unsqueeze(1)
    largest = top.gather(1, top.abs().argmax(dim=1, keepdim=True))
    rows: torch.Tensor = top * largest.sign() / rms
    return rows.float().contiguous()


def _layer_of(path: str) -> int | None:
    return next((int(part) for part in path.split(".") if part.isdigit()), None)
