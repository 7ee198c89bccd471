from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aes.errors import DataError
from envs.webshop.catalog import json_stream
from envs.webshop.catalog.json_stream import elements, members

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
ANY_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@ANY_FOLDER
@given(st.lists(JSON, max_size=6), st.booleans(), st.integers(1, 40), st.sampled_from([None, 1]))
def test_it_reads_what_json_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: list[Any], ascii_only: bool, chunk: int, indent: int | None
) -> None:
    monkeypatch.setattr(json_stream, "_CHUNK", chunk)
    path = tmp_path / "x.json"
    path.write_text(json.dumps(values, ensure_ascii=ascii_only, indent=indent), "utf-8", "surrogatepass")
    assert list(elements(path, "an array")) == values
    pairs = {str(number): value for number, value in enumerate(values)}
    path.write_text(json.dumps(pairs, ensure_ascii=ascii_only, indent=indent), "utf-8", "surrogatepass")
    assert dict(members(path, "an object")) == pairs


@ANY_FOLDER
@given(st.text(st.sampled_from('[]{},:"1e-n \\'), max_size=12), st.integers(1, 6))
def test_it_refuses_what_json_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, chunk: int) -> None:
    monkeypatch.setattr(json_stream, "_CHUNK", chunk)
    path = tmp_path / "x.json"
    path.write_text(text)
    try:
        wanted = json.loads(text)
    except ValueError:
        wanted = None
    for kind, read in ((list, elements), (dict, members)):
        if isinstance(wanted, kind):
            assert kind(read(path, "it")) == wanted
        else:
            with pytest.raises(DataError, match=r"must hold it|not JSON"):
                list(read(path, "it"))


def test_oddities_are_read_as_python_reads_them(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b'\xef\xbb\xbf["\\ud800", NaN, 1e400]')
    surrogate, nan, huge = elements(path, "an array")
    assert (surrogate, nan != nan, huge) == ("\ud800", True, float("inf"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "must hold an array, but holds nothing"),
        (b"  {}", "must hold an array, but holds an object"),
        (b"3", "must hold an array, but holds a bare value"),
        (b"[1,\n 2", r"line 2, column 3: not JSON: expected ','"),
        (b"[1,\n x]", "line 2, column 2: not JSON: Expecting value"),
        (b"[1]\n\n!", "line 3, column 1: not JSON: expected nothing after the closing bracket"),
        (b'["a\nb"]', "line 1, column 4: not JSON: Invalid control character"),
        (b'["\xff"]', "near byte 2: not UTF-8 text; save it as UTF-8"),
        ("[1]".encode("utf-16"), "near byte 0: not UTF-8 text"),
        (b"[" * 100_000, "not JSON: nested too deeply"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=rf"x\.json.*{message}"):
        list(elements(path, "an array"))


def test_a_value_without_an_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "_CHUNK", 10)
    monkeypatch.setattr(json_stream, "_LONGEST", 100)
    path = tmp_path / "x.json"
    path.write_text('["' + "a" * 1000)
    with pytest.raises(DataError, match="a value of more than 100 characters"):
        list(elements(path, "an array"))


def test_a_folder_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        list(elements(tmp_path, "an array"))
