from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

from tests.cli.conftest import Aes


def test_version(aes: Aes) -> None:
    assert aes("--version") == (0, f"aes {version('aes-runtime')}\n", "")


def test_help_tells_units_and_bias(aes: Aes) -> None:
    code, out, _ = aes("train", "--help")
    words = " ".join(out.replace("│", " ").split())
    assert code == 0
    assert "never in seconds" in words
    assert "biased against long episodes" in words
    for panel in ("Search", "Staleness", "Adapters", "Engine", "Task", "Output"):
        assert f"─ {panel} ─" in out


def test_help_and_refusals_wait_for_no_heavy_import() -> None:
    code = "import sys, cli.aes_app; print([m for m in ('torch', 'vllm', 'transformers', 'scipy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
