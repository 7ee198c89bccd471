"""A run at a glance: the state of any folder is told, and looking changes nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from aes.lock import Lock
from aes.past import Past
from cli.glance import is_run, look
from tests.aes.test_security import EVALUATED, HEAD, STARTED, forge
from tests.cli.recorded_runs import cut, record


def test_a_finished_run(tmp_path: Path) -> None:
    run = look(record(tmp_path / "run"))
    past = Past.read(tmp_path / "run")
    assert (run.state, run.version, run.why, run.seconds) == ("finished", 6, "", past.seconds)
    assert (sorted(run.evaluations), run.last) == ([0, 2, 4, 6], 6)
    assert run.config is not None
    assert run.config.updates == 6
    assert run.written == (tmp_path / "run" / "journal.jsonl").stat().st_mtime
    assert run.best is not None
    assert all(sum(run.evaluations[run.best].scores) >= sum(e.scores) for e in run.evaluations.values())


def test_a_run_that_is_stopped_or_goes_on(tmp_path: Path) -> None:
    folder = cut(record(tmp_path), "Updated", 3, b'{"event":"Upda')
    assert look(folder).state == "stopped"
    lock = Lock(folder)
    seen = look(folder)
    lock.release()
    assert seen.state == "running"
    assert seen.version == 3
    assert look(folder).state == "stopped"


def test_a_run_that_has_just_begun_has_no_score(tmp_path: Path) -> None:
    run = look(cut(record(tmp_path), "Journal"))
    assert (run.state, run.version, run.seconds, run.last, run.best) == ("stopped", 0, 0.0, None, None)


@pytest.mark.parametrize(
    ("records", "said"),
    [
        ((), "its journal is empty (nothing was begun; delete the folder)"),
        ((b"\x00\xff\x1b[2J" * 99,), "journal.jsonl: not a journal of format 2 (use the aes it was written by)"),
        ((HEAD | {"config": []},), "journal.jsonl:1: not the beginning of a run"),
        ((HEAD | {"config": {"sigma": -1}},), "sigma = -1"),
        ((HEAD, EVALUATED | {"scores": "x"}), "journal.jsonl:2: not an event of this version of aes (scores"),
        ((HEAD, '{"event":"Evaluated","at":[[[}'), "journal.jsonl:2: not a record of aes"),
        ((HEAD, '{"event":"Evaluated","at":true'), "journal.jsonl:2: not a record of aes"),
        ((HEAD, '{"event":"Evaluated","at":NaN}'), "NaN is no number of a run"),
        ((HEAD, '{"event":"Evaluated","at":1e999}'), "1e999 is no number of a run"),
        ((HEAD, EVALUATED | {"successes": 10**200}), "is no number of a run"),
        ((HEAD, EVALUATED | {"successes": 1}), "an evaluation that no run of aes wrote"),
    ],
)
def test_garbage_is_a_broken_run(records: tuple[bytes, ...], said: str, tmp_path: Path) -> None:
    run = look(forge(tmp_path, *records))
    assert run.state == "broken"
    assert said in run.why
    assert str(tmp_path) not in run.why


def test_a_line_that_was_changed_is_a_broken_run(tmp_path: Path) -> None:
    journal = record(tmp_path) / "journal.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"successes":', b'"succeeded":', 1))
    assert "not as it was written" in look(tmp_path).why


def test_a_line_without_end_is_not_read_into_memory(tmp_path: Path) -> None:
    forge(tmp_path, HEAD, STARTED)
    os.truncate(tmp_path / "journal.jsonl", 2**40)
    assert "longer than any line" in look(tmp_path).why


def test_links_pipes_and_folders_are_no_journals(tmp_path: Path) -> None:
    for name in ("loop", "pipe", "folder", "dangling"):
        (tmp_path / name).mkdir()
    (tmp_path / "loop" / "journal.jsonl").symlink_to("journal.jsonl")
    (tmp_path / "dangling" / "journal.jsonl").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe" / "journal.jsonl")
    (tmp_path / "folder" / "journal.jsonl").mkdir()
    for folder in tmp_path.iterdir():
        assert is_run(folder)
        assert look(folder).state == "broken"


def test_what_is_no_folder_of_ours_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    assert not any(is_run(path) for path in tmp_path.iterdir())


def test_a_folder_that_may_not_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(path: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "is_dir", denied)
    monkeypatch.setattr(Path, "is_file", denied)
    assert is_run(tmp_path)
    assert look(tmp_path).why == "journal.jsonl: cannot be read (Permission denied)"
