"""The journal: every line is JSON, a torn end is forgiven, a changed middle is not."""

from __future__ import annotations

import json
import math
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aes.errors import DataError
from aes.events import Evaluated, Finished, Updated
from aes.journal import Journal, read, to_json
from aes.types import Term, Update


def test_events_are_written_as_they_happen(tmp_path: Path) -> None:
    ticks = count(10.0, 0.5)
    journal = Journal(tmp_path, lambda: next(ticks))
    journal(Updated(Update(0, (Term(7, 0.1),)), (3,), (0,), 0.5, 0.1, "abc", {1: 0.3}, False, 1.0, 0.0))
    path = tmp_path / "journal.jsonl"
    assert len(path.read_text().splitlines()) == 2
    journal(Finished(1, 2.0))
    journal.close()
    header, updated, finished = read(tmp_path)
    assert header == {"event": "Journal", "format": 1, "at": 0.5}
    assert updated["update"]["terms"] == [{"seed": 7, "coefficient": 0.1}]
    assert updated["moved"] == {"1": 0.3}
    assert finished == {"event": "Finished", "version": 1, "seconds": 2.0, "at": 1.5}


@given(coefficient=st.floats(allow_nan=False, allow_infinity=False))
def test_coefficients_come_back_bit_for_bit(coefficient: float) -> None:
    assert json.loads(to_json({"c": coefficient}))["c"] == coefficient


def test_numbers_that_json_lacks_become_null(tmp_path: Path) -> None:
    journal = Journal(tmp_path, lambda: 0.0)
    journal(Evaluated(1, (0.5, math.nan, math.inf), 0, 2, 1.0))
    journal.close()
    assert list(read(tmp_path))[1]["scores"] == [0.5, None, None]
    assert json.loads(to_json({"a": [math.nan, {"b": (1, -math.inf)}]}, indent=2)) == {"a": [None, {"b": [1, None]}]}


def test_a_second_journal_is_refused(tmp_path: Path) -> None:
    Journal(tmp_path, lambda: 0.0).close()
    with pytest.raises(FileExistsError):
        Journal(tmp_path, lambda: 0.0)


@pytest.mark.parametrize("tail", ['{"event": "Upd', '{"event": "Finished"', '"'])
def test_a_torn_last_line_is_left_out(tmp_path: Path, tail: str) -> None:
    (tmp_path / "journal.jsonl").write_text('{"event":"Journal"}\n' + tail)
    assert list(read(tmp_path)) == [{"event": "Journal"}]


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "journal.jsonl").write_text('{"event":"Journal"}\nnonsense\n{"event":"Finished"}\n')
    with pytest.raises(DataError, match=r"journal.jsonl:2: not a JSON record"):
        list(read(tmp_path))


def test_a_folder_without_a_journal_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no journal.jsonl"):
        list(read(tmp_path))
