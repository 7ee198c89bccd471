"""Replay: any version of a run again, from its seeds and coefficients alone, proved by its digest."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from aes.errors import DataError, DigestMismatch
from aes.events import Started
from aes.past import Past
from aes.protocols import Engine

if TYPE_CHECKING:
    import torch

    from aes.lora import LoraSpace

BASIS = "basis.safetensors"
"""The file of a run folder that holds A where it starts from activations."""


async def rebuild(
    engine: Engine, past: Past, version: int, sigma: float, basis: Path, keep: Collection[int] = ()
) -> None:
    """Have an open engine hold a version of a run, and those in `keep` below it.

    Raises DigestMismatch where what is made is not what the run had, DataError where it had no such version, or where
    the file of A is not as the run wrote it.
    """
    past.digest(version)
    assert past.started is not None
    if past.started.basis:
        await asyncio.to_thread(_check_basis, past.started, basis)
    digest, _ = await engine.start(past.started.seed, sigma, basis)
    _agree(past, 0, digest)
    for applied in past.updates[:version]:
        advanced = await engine.advance(applied.update, keep, ())
        _agree(past, applied.update.version + 1, advanced.digest)


def remake(past: Past, space: LoraSpace, version: int) -> tuple[torch.Tensor, Mapping[str, torch.Tensor]]:
    """A version of a run without any engine: (theta [dim], A by module path), on the device type the run drew noise on.

    Raises DigestMismatch where what is made is not what the run had, DataError where it had no such version, this
    machine lacks the device, or A is not in the run folder.
    """
    import torch

    from aes import lora
    from aes.centre import Centre

    past.digest(version)
    assert past.started is not None
    device = past.about["engine"].get("device", "cpu")
    if device == "cuda" and not torch.cuda.is_available():
        raise DataError(
            f"run {past.folder}: its noise was drawn on a GPU and this machine has none (take a snapshot in adapters/)"
        )
    basis = _basis(past) or lora.random_basis(space, past.started.seed)
    centre = Centre(space.start(basis).to(device))
    _agree(past, 0, centre.digest())
    for applied in past.updates[:version]:
        _agree(past, applied.update.version + 1, centre.advance(applied.update).digest)
    return centre.vector(version), basis


def _basis(past: Past) -> Mapping[str, torch.Tensor] | None:
    """A as the run kept it, where it started from activations. Raises DataError."""
    if '"basis":"activations"' not in past.about["engine"].get("lora", ""):
        return None
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    assert past.started is not None
    _check_basis(past.started, past.folder / BASIS)
    try:
        basis: Mapping[str, torch.Tensor] = load_file(past.folder / BASIS)
    except (OSError, SafetensorError) as error:
        raise DataError(f"{past.folder / BASIS}: cannot be read ({error}); restore it") from error
    return basis


def digest_of(basis: Path) -> str:
    """A hash of a file that holds A. Raises DataError."""
    try:
        with basis.open("rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    except OSError as error:
        raise DataError(f"{basis}: cannot be read ({error.strerror}); restore it") from None


def _check_basis(started: Started, basis: Path) -> None:
    """Refuse a file of A that is not the one version 0 was made with. Raises DataError."""
    if started.basis and digest_of(basis) != started.basis:
        raise DataError(f"{basis}: not as the run wrote it (its digest differs); restore it")


def _agree(past: Past, version: int, digest: str) -> None:
    if digest != past.digest(version):
        raise DigestMismatch(
            f"version {version} rebuilt from the journal has digest {digest}, the run had {past.digest(version)}"
            " (another device type or torch version draws other noise; use the snapshot in adapters/ there)"
        )
