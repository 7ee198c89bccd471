from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from aes.errors import CanaryFailed, EngineError
from cli.doctor import canary


@pytest.mark.vllm
def test_a_real_engine_applies_adapters(tmp_path: Path) -> None:
    finding = canary.engine(tmp_path / "log", lambda words: None)
    assert finding.grade == "ok", finding
    assert finding.found.startswith("vllm on cpu started and applies adapters")


def test_an_engine_that_is_never_ready(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made: list[Path] = []
    monkeypatch.setattr(canary, "_make", made.append)
    finding = canary.engine(tmp_path / "log", lambda words: None, limit=0.0)
    assert finding.grade == "wrong"
    assert finding.found.endswith(": not ready after 0 s")
    assert str(tmp_path / "log") in finding.cure
    assert not any(folder.exists() for folder in made)


@pytest.mark.parametrize(
    ("error", "found"),
    [
        (CanaryFailed("canary: a perturbation changes nothing"), "starts, but canary: a perturbation changes nothing"),
        (EngineError("vLLM did not start"), ": vLLM did not start"),
        (OSError("No space left on device"), ": No space left on device"),
    ],
)
def test_an_engine_that_fails(error: Exception, found: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def prove(*_: Any) -> None:
        await asyncio.sleep(0)
        raise error

    monkeypatch.setattr(canary, "_prove", prove)
    finding = canary.engine(tmp_path / "log", lambda words: None)
    assert (finding.grade, bool(finding.cure)) == ("wrong", True)
    assert found in finding.found
