"""The public face: sorted, there, and light."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys

import pytest

import aes
import aes.engine

MODULES = [f"aes.{m.name}" for m in pkgutil.iter_modules(aes.__path__)]
MODULES += [f"aes.engine.{m.name}" for m in pkgutil.iter_modules(aes.engine.__path__) if m.name != "worker"]


def test_the_public_names_are_sorted_and_there() -> None:
    assert aes.__all__ == sorted(aes.__all__)
    assert all(hasattr(aes, name) for name in aes.__all__)


def test_every_public_name_says_what_it_is() -> None:
    assert all(getattr(aes, name).__doc__ for name in aes.__all__)


@pytest.mark.parametrize("name", MODULES)
def test_every_module_says_what_it_is(name: str) -> None:
    assert importlib.import_module(name).__doc__


def test_importing_aes_pulls_in_neither_the_engine_nor_the_terminal() -> None:
    heavy = ["vllm", "transformers", "scipy", "rich", "typer", "envs", "cli", "peft"]
    code = f"import sys, aes; print([m for m in {heavy} if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
