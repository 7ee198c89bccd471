"""torchvision, which aes does not need: vLLM brings it, now and then for another torch, and then transformers fails."""

from __future__ import annotations

import importlib.util
from importlib.metadata import version

from aes.errors import UsageError

CURE = "pip uninstall torchvision torchaudio torchcodec (aes needs none of them)"


def misfit() -> str:
    """What is wrong with torchvision, or nothing. It is imported, which takes a second where it is there."""
    if importlib.util.find_spec("torchvision") is None:
        return ""
    try:
        importlib.import_module("torchvision")
    except Exception as error:  # whatever its own imports come across
        return f"torchvision {version('torchvision')} does not fit torch {version('torch')}: {error}"
    return ""


def check() -> None:
    """Raise UsageError where no model could be read for it."""
    if words := misfit():
        raise UsageError(f"{words}; {CURE}")
