from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from cli import vision
from cli.doctor import software
from tests.cli.conftest import Aes


@pytest.fixture
def unfit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A torchvision that was built for another torch."""
    package = tmp_path / "packages" / "torchvision"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('operator torchvision::nms does not exist')")
    info = package.with_name("torchvision-0.1.dist-info")
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torchvision\nVersion: 0.1\n")
    monkeypatch.syspath_prepend(str(package.parent))
    monkeypatch.delitem(sys.modules, "torchvision", raising=False)


@pytest.mark.usefixtures("unfit")
def test_it_is_told_in_one_line_with_the_cure(aes: Aes) -> None:
    for command in (["train", "--dry-run"], ["warmstart"]):
        refused = aes(*command)
        assert refused.code == 2
        assert "torchvision 0.1 does not fit torch" in refused.err
        assert "pip uninstall torchvision" in refused.err
        assert "Traceback" not in refused.err
    assert software.torchvision().grade == "wrong"


def test_none_is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    vision.check()
    assert software.torchvision().grade == "ok"
