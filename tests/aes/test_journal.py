"""The journal: every line proves itself, a torn end is cut, anything else that changed is found."""

from __future__ import annotations

import asyncio
import errno
import json
import math
import os
import subprocess
import sys
import threading
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aes.errors import ConfigError, DataError, RunFailed
from aes.events import Evaluated, Finished, Updated
from aes.journal import Journal, Reader, read, to_json, writing
from aes.types import Term, Update

UPDATED = Updated(Update(0, (Term(7, 0.1),)), (3,), (0,), 0.5, 0.1, "abc", {1: 0.3}, False, 1.0, 0.0)


def write(folder: Path, *events: Any) -> bytes:
    """A journal with these events, closed; its content."""
    ticks = count(10.0, 0.5)
    journal = Journal.create(folder, lambda: next(ticks), {"config": {"seed": 1}})
    for event in events:
        journal(event)
    journal.close()
    return (folder / "journal.jsonl").read_bytes()


def test_events_are_written_as_they_happen(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path, lambda: 0.0, {})
    journal(UPDATED)
    assert len((tmp_path / "journal.jsonl").read_text().splitlines()) == 2
    journal.close()


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    write(tmp_path, UPDATED, Finished(1, 2.0))
    header, updated, finished = read(tmp_path)
    assert header == {"event": "Journal", "format": 2, "config": {"seed": 1}, "at": 0.5}
    assert updated["update"]["terms"] == [{"seed": 7, "coefficient": 0.1}]
    assert updated["moved"] == {"1": 0.3}
    assert finished == {"event": "Finished", "version": 1, "seconds": 2.0, "at": 1.5}


def test_every_line_is_plain_json(tmp_path: Path) -> None:
    for line in write(tmp_path, UPDATED, Evaluated(1, (0.5, math.nan, math.inf), 0, 2, 1.0)).splitlines():
        record = json.loads(line)
        assert len(record["sum"]) == 8
    assert record["scores"] == [0.5, None, None]
    assert json.loads(to_json({"a": [math.nan, {"b": (1, -math.inf)}]}, indent=2)) == {"a": [None, {"b": [1, None]}]}


@given(coefficient=st.floats(allow_nan=False, allow_infinity=False))
def test_coefficients_come_back_bit_for_bit(coefficient: float) -> None:
    assert json.loads(to_json({"c": coefficient}))["c"] == coefficient


def test_a_second_journal_is_refused(tmp_path: Path) -> None:
    write(tmp_path)
    with pytest.raises(FileExistsError):
        Journal.create(tmp_path, lambda: 0.0, {})
    Journal.reopen(tmp_path, lambda: 0.0).close()  # being refused has let go of the folder


def test_one_writer_at_a_time_in_this_process_and_in_others(tmp_path: Path) -> None:
    write(tmp_path)
    journal = Journal.reopen(tmp_path, lambda: 0.0)
    with pytest.raises(ConfigError, match="another process is writing to it"):
        Journal.reopen(tmp_path, lambda: 0.0)
    code = f"from pathlib import Path; from aes.journal import Journal; Journal.reopen(Path({str(tmp_path)!r}), float)"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "another process is writing to it" in other.stderr
    journal.close()
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    Journal.reopen(tmp_path, lambda: 0.0).close()  # that process is gone, and so is its lock


def test_it_goes_on_where_it_ended(tmp_path: Path) -> None:
    write(tmp_path, UPDATED)
    journal = Journal.reopen(tmp_path, lambda: 100.0)
    journal(Finished(1, 2.0))
    journal.close()
    *_, updated, finished = read(tmp_path)
    assert (updated["at"], finished["at"]) == (1.0, 1.0)


def test_wherever_it_is_cut_the_whole_lines_are_left(tmp_path: Path) -> None:
    content = write(tmp_path, UPDATED, Finished(1, 2.0))
    path, records = tmp_path / "journal.jsonl", list(read(tmp_path))
    for size in range(len(content)):
        path.write_bytes(content[:size])
        whole = content[:size].count(b"\n")
        assert list(read(tmp_path)) == records[:whole]
        if not whole:
            with pytest.raises(DataError, match="its journal is empty"):
                Journal.reopen(tmp_path, lambda: 100.0)
            continue
        journal = Journal.reopen(tmp_path, lambda: 100.0)
        journal(Finished(1, 2.0))
        journal.close()
        assert len(list(read(tmp_path))) == whole + 1


def test_whatever_byte_is_changed_is_found_with_its_line(tmp_path: Path) -> None:
    content = write(tmp_path, UPDATED, Finished(1, 2.0))
    path = tmp_path / "journal.jsonl"
    for place in range(len(content)):
        for change in (0x01, 0x80):
            path.write_bytes(content[:place] + bytes([content[place] ^ change]) + content[place + 1 :])
            if place == len(content) - 1:  # the last line has lost its end: torn
                assert len(list(read(tmp_path))) == 2
                continue
            line = content[:place].count(b"\n") + 1
            with pytest.raises(DataError, match=r"not as it was written|not a journal of format 2") as error:
                list(read(tmp_path))
            if line > 1:
                assert f"journal.jsonl:{line}:" in str(error.value)


@pytest.mark.parametrize("order", [(0, 2), (0, 2, 1), (0, 1, 1, 2), (1, 2)])
def test_lines_that_were_lost_or_moved_are_found(tmp_path: Path, order: tuple[int, ...]) -> None:
    lines = write(tmp_path, UPDATED, Finished(1, 2.0)).splitlines(keepends=True)
    (tmp_path / "journal.jsonl").write_bytes(b"".join(lines[number] for number in order))
    with pytest.raises(DataError):
        list(read(tmp_path))


def test_a_journal_of_another_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "journal.jsonl").write_text('{"event":"Journal","format":1,"at":0.0}\n')
    with pytest.raises(DataError, match="not a journal of format 2"):
        list(read(tmp_path))


def test_a_folder_without_a_journal_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no journal.jsonl"):
        list(read(tmp_path))


def test_a_full_disk_leaves_whole_lines_and_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal.create(tmp_path, lambda: 0.0, {})
    really = os.write

    def half(file: int, data: memoryview) -> int:
        if len(data) < 60:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return really(file, data[: len(data) // 2])

    with monkeypatch.context() as full:
        full.setattr(os, "write", half)
        with pytest.raises(RunFailed, match=r"cannot be written \(No space left on device\).*resume"):
            journal(UPDATED)
    assert (tmp_path / "journal.jsonl").read_bytes().endswith(b"\n")
    journal(Finished(1, 2.0))
    journal.close()
    assert [record["event"] for record in read(tmp_path)] == ["Journal", "Finished"]


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(RunFailed, match=r"x/y: cannot be written \(No such file or directory\)"),
        writing(tmp_path / "x" / "y") as path,
    ):
        path.write_text("")


async def test_updates_are_made_to_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = asyncio.Event()
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(os, "fdatasync", lambda file: loop.call_soon_threadsafe(synced.set))
    journal = Journal.create(tmp_path, lambda: 0.0, {})
    keeper = asyncio.create_task(journal.keep_safe())
    journal(UPDATED)
    await asyncio.wait_for(synced.wait(), 5)
    keeper.cancel()
    with pytest.raises(asyncio.CancelledError):
        await keeper
    journal.close()


async def test_a_file_is_not_closed_while_it_is_synced_however_often_that_is_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, released = threading.Event(), threading.Event()

    def sync(file: int) -> None:
        begun.set()
        released.wait(5)

    monkeypatch.setattr(os, "fdatasync", sync)
    journal = Journal.create(tmp_path, lambda: 0.0, {})
    keeper = asyncio.create_task(journal.keep_safe())
    journal(UPDATED)
    await asyncio.to_thread(begun.wait, 5)
    for _ in range(3):
        keeper.cancel()
        done, _ = await asyncio.wait([keeper], timeout=0.01)
        assert not done
    released.set()
    await asyncio.wait([keeper], timeout=5)
    assert keeper.cancelled()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    journal.close()


def test_a_reader_goes_on_where_it_was(tmp_path: Path) -> None:
    whole = write(tmp_path, UPDATED, Finished(1, 2.0))
    lines, path = whole.splitlines(keepends=True), tmp_path / "journal.jsonl"
    reader = Reader(tmp_path)
    for content, kinds in (
        (lines[0] + lines[1][:40], ["Journal"]),
        (lines[0] + lines[1][:90], []),
        (lines[0], []),  # as a run that is resumed cuts it
        (whole, ["Updated", "Finished"]),
        (whole, []),
    ):
        path.write_bytes(content)
        assert [record["event"] for record in reader.records()] == kinds
    assert (reader.end, reader.number) == (len(whole), 3)
    path.write_bytes(lines[0])
    with pytest.raises(DataError, match="is shorter than it was"):
        list(reader.records())


def test_a_journal_that_is_not_to_be_read_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "journal.jsonl").mkdir()
    with pytest.raises(DataError, match=r"no journal\.jsonl in it"):
        Reader(tmp_path)
    write(tmp_path / "journal.jsonl", UPDATED)
    reader = Reader(tmp_path / "journal.jsonl")
    monkeypatch.setattr("aes.journal.LONGEST_LINE", 120)
    with pytest.raises(DataError, match=r"journal\.jsonl:2: longer than any line"):
        list(reader.records())
    reader.path.unlink()
    with pytest.raises(DataError, match=r"cannot be read \(No such file"):
        list(reader.records())
