from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from cli.doctor import storage


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AES_CACHE", str(tmp_path / "a" / "cache"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))


def test_folders_that_are_not_there_yet_and_are_not_made(tmp_path: Path) -> None:
    findings = [storage.cache(), storage.models(), storage.runs()]
    assert [finding.grade for finding in findings] == ["ok"] * 3
    assert findings[0].found == f"{tmp_path / 'a' / 'cache'}, not there yet"
    assert list(tmp_path.iterdir()) == []


def test_a_cache_has_a_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a" / "cache" / "pocket").mkdir(parents=True)
    assert storage.cache().found.endswith("cache, empty")
    for number in range(3):
        (tmp_path / "a" / "cache" / "pocket" / str(number)).write_bytes(b"x" * 2**20)
    (tmp_path / "a" / "cache" / "loop").symlink_to("loop")
    assert storage.cache().found.endswith("cache, 3 MiB")
    monkeypatch.setattr(storage, "_COUNTED", 2)
    assert ", more than " in storage.cache().found


def test_what_cannot_be_written_to_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    finding = storage.cache()
    assert (finding.grade, finding.cure) == ("wrong", "set AES_CACHE to a folder that you may write to")
    assert finding.found.endswith("cannot be written to (Not a directory)")
    (tmp_path / "runs").symlink_to("nowhere")
    assert storage.runs().grade == "wrong"


def test_room_for_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    rooms: list[Any] = [shutil._ntuple_diskusage(9, 0, mib * 2**20) for mib in (50, 1000, 9000)]
    monkeypatch.setattr(shutil, "disk_usage", lambda path: rooms.pop(0))
    assert [storage.runs().grade for _ in range(3)] == ["wrong", "warning", "ok"]
