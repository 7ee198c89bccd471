"""Nothing that comes from a stranger runs: run folders, journals, adapters are data; a broken one is a clear error."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import pickle
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aes import ChatTask, Config, Run
from aes.engine.fake import FakeEngine
from aes.errors import AesError, DataError
from aes.events import Started
from aes.journal import Journal, read
from aes.lora import LoraSpace, Module
from aes.past import Past
from aes.replay import digest_of, remake

ROOT = Path(__file__).parents[2]
SOURCES = [path for package in ("aes", "cli", "envs") for path in sorted((ROOT / package).rglob("*.py"))]

# The sources

RUN_THEIR_INPUT = {"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve", "code"}
EVALUATE = {"eval", "exec", "compile", "__import__", "torch.load", "os.system", "os.popen"}


def dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def dangers(source: str) -> Iterator[str]:
    """Every place in a program that could run what it reads."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (f"import {n.name}" for n in names if n.name.partition(".")[0] in RUN_THEIR_INPUT)
            case ast.ImportFrom(module=str(module)) if module.partition(".")[0] in RUN_THEIR_INPUT:
                yield f"from {module}"
            case ast.Call(func=func) if dotted(func) in EVALUATE:
                yield dotted(func)
            case ast.keyword(arg="trust_remote_code" | "shell" | "allow_pickle" as name, value=value):
                yield from [name] * (ast.unparse(value) != "False")
            case ast.Constant(value=str(text)) if "ALLOW_INSECURE" in text or "trust_remote_code" in text:
                yield text


@pytest.mark.parametrize(
    "source",
    [
        "import pickle", "from pickle import loads", "import torch\ntorch.load('x')", "eval('1')", "f(shell=True)",
        "f(trust_remote_code=True)", "f(trust_remote_code=flag)", "f(**{'trust_remote_code': True})", "import dill.x",
        "np.load(f, allow_pickle=True)",
        "os.environ['VLLM_ALLOW_INSECURE_SERIALIZATION'] = '1'",
    ],
)  # fmt: skip
def test_a_danger_is_seen(source: str) -> None:
    assert list(dangers(source))


def test_no_source_can_run_what_it_reads() -> None:
    assert len(SOURCES) > 80
    assert {str(path): found for path in SOURCES if (found := list(dangers(path.read_text())))} == {}


# Journals

HEAD = {"event": "Journal", "format": 2, "config": {}, "about": None, "task": {"name": "shelf"}, "engine": {}, "at": 0}
STARTED = {"event": "Started", "digest": "d", "dim": 1, "seed": 0, "at": 0}
PROPOSAL = {"index": 0, "seed": 1, "version": 0, "sigma": 1.0, "signs": [1, -1], "goals": [0], "update": None}
MEASURED = {
    "event": "Measured", "at": 0,
    "measurement": {
        "proposal": PROPOSAL, "fitness": [1, 0], "episodes": 2, "failures": 0, "tokens": 0, "turns": 0, "successes": 0,
        "seconds": 0,
    },
}  # fmt: skip
UPDATED = {
    "event": "Updated", "at": 0, "update": {"version": 0, "terms": [], "shrink": 0, "momentum": 0}, "consumed": [0],
    "lags": [0], "fitness": 0, "deviation": 0, "digest": "d", "moved": {}, "skipped": True, "seconds": 0, "idle": 0,
}  # fmt: skip

EVALUATED = {
    "event": "Evaluated", "version": 0, "scores": [], "successes": 0, "failures": 0, "seconds": 0, "at": 0,
}  # fmt: skip
TERM = {"seed": 1, "coefficient": 1.0}


def forge(folder: Path, *records: dict[str, Any] | str | bytes) -> Path:
    """A journal with checksums as they should be, around whatever records a stranger likes."""
    folder.mkdir(exist_ok=True)
    checksum, lines = 0, []
    for record in records:
        text = json.dumps(record, separators=(",", ":")) if isinstance(record, dict) else record
        body = (text.encode() if isinstance(text, str) else text)[:-1]
        checksum = zlib.crc32(body, checksum)
        lines.append(body + f',"sum":"{checksum:08x}"}}\n'.encode())
    (folder / "journal.jsonl").write_bytes(b"".join(lines))
    return folder


def sent(**changes: Any) -> dict[str, Any]:
    return {"event": "Dispatched", "proposal": PROPOSAL | changes, "at": 0}


def test_a_forged_journal_that_is_sound_is_read(tmp_path: Path) -> None:
    past = Past.read(forge(tmp_path, HEAD, STARTED, sent(), MEASURED, UPDATED))
    assert (past.version, past.open) == (1, {})


DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize(
    ("records", "words"),
    [
        ([{"event": "Journal", "format": 2, "at": 0}], ":1: not the beginning of a run (config"),
        ([HEAD | {"config": []}], ":1: not the beginning of a run (config = []"),
        ([json.dumps(HEAD, separators=(",", ":")).replace('"config":{}', f'"config":{DEEP}')], ":1: not a record"),
        ([HEAD, f'{{"event":"Started","digest":{DEEP},"at":0}}'], ":2: not a record of aes (maximum recursion"),
        ([HEAD, '{"event":"Started","dim":' + "9" * 5000 + ',"at":0}'], ":2: not a record of aes (99999999999"),
        ([HEAD, '{"event":}'], ":2: not a record of aes"),
        ([HEAD, b'{"event":"\xff\xfe","at":0}'], ":2: not a record of aes"),
        ([HEAD, {"event": "Finished", "version": 0, "seconds": 0}], ":2: not a record of aes (no time in it)"),
        ([HEAD, {"event": "../../../etc/passwd", "at": 0}], ":2: not an event of this version of aes ('../../../etc"),
        ([HEAD, {"event": {"a": 1}, "at": 0}], ":2: not an event of this version of aes"),
        ([HEAD, STARTED | {"dim": "many"}], ":2: not an event of this version of aes (dim = 'many'"),
        ([HEAD, STARTED | {"digest": {"a": "b"}}], ":2: not an event of this version of aes (digest"),
        ([HEAD, STARTED, STARTED], ":3: the run begins a second time"),
        ([HEAD, STARTED, sent(), sent()], ":4: proposal 0 is sent out twice"),
        ([HEAD, STARTED, sent(goals=[])], ":3: proposal 0 is none"),
        ([HEAD, STARTED, sent(goals=[-1])], ":3: proposal 0 is none"),
        ([HEAD, STARTED, sent(signs=[7])], ":3: proposal 0 is none"),
        ([HEAD, STARTED, sent(version=10**30)], ":3: "),
        ([HEAD, STARTED, sent(version=5)], ":3: proposal 0 is of no version or seed"),
        ([HEAD, STARTED, sent(seed=2**32)], ":3: proposal 0 is of no version or seed"),
        ([HEAD, STARTED, MEASURED], ":3: proposal 0 was not sent out like that"),
        ([HEAD, STARTED, sent(goals=[1]), MEASURED], ":4: proposal 0 was not sent out like that"),
        ([HEAD, STARTED, sent(), MEASURED, MEASURED], ":5: proposal 0 is measured twice"),
        ([HEAD, STARTED, sent(), UPDATED], ":4: an update made of what was not measured"),
        ([HEAD, STARTED, sent(), MEASURED, UPDATED | {"lags": []}], ":5: an update without measurements"),
        (
            [HEAD, STARTED, sent(), MEASURED, UPDATED | {"update": {"version": 10**18, "terms": []}}],
            f":5: an update of version {10**18} where 0 is next",
        ),
        (
            [HEAD, STARTED, sent(), MEASURED, UPDATED | {"update": {"version": 0, "terms": [TERM | {"seed": -1}]}}],
            ":5: an update by a seed or a number that no update has",
        ),
        (
            [HEAD, STARTED, sent(), MEASURED, UPDATED | {"update": {"version": 0, "terms": [], "shrink": 1e39}}],
            ":5: an update by a seed or a number that no update has",
        ),
        ([HEAD, EVALUATED | {"solved": [3]}], ":2: an evaluation with more successes and failures than goals"),
        ([HEAD, EVALUATED | {"scores": [1], "successes": 1, "solved": [-1]}], ":2: an evaluation with more successes"),
        ([HEAD, EVALUATED | {"version": 3}], ":2: version 3 is evaluated before it is made"),
        ([HEAD, EVALUATED | {"scores": [[[]]]}], ":2: not an event of this version of aes (scores.0"),
    ],
)  # fmt: skip
def test_what_no_run_has_written_is_one_clear_error(tmp_path: Path, records: list[Any], words: str) -> None:
    with pytest.raises(DataError) as caught:
        Past.read(forge(tmp_path, *records))
    assert f"journal.jsonl{words}" in str(caught.value)
    assert len(str(caught.value)) < 600
    assert "\n" not in str(caught.value)


def test_numbers_beyond_measure_make_no_other_version(shelf: ChatTask, virtual: Any, tmp_path: Path) -> None:
    """Whatever the terms say, what they make must have the digest of the run."""
    terms = [TERM | {"coefficient": 3e38}] * 3
    update = UPDATED | {"update": {"version": 0, "terms": terms, "shrink": 3e38, "momentum": 0}, "digest": "0" * 32}
    head = HEAD | {
        "config": Config(updates=2, eval_goals=0).model_dump(mode="json"),
        "engine": dict(FakeEngine().fingerprint),
    }
    engine = FakeEngine()
    digest, _ = virtual(engine.start(0, 1.0, tmp_path))
    folder = forge(tmp_path / "run", head, STARTED | {"digest": digest}, sent(), MEASURED, update)

    async def resume() -> None:
        async with FakeEngine() as again, Run.resume(shelf, again, folder):
            pass

    with pytest.raises(AesError, match="version 1 rebuilt from the journal has digest"):
        virtual(resume())


def test_goals_that_the_task_has_not_are_refused(shelf: ChatTask, tmp_path: Path) -> None:
    head = HEAD | {"config": Config(eval_goals=0).model_dump(mode="json"), "engine": dict(FakeEngine().fingerprint)}
    folder = forge(tmp_path / "run", head, STARTED, sent(goals=[10**9]))
    with pytest.raises(DataError, match="its members play goals that task shelf has not"):
        Run.resume(shelf, FakeEngine(), folder)


Json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_value_anywhere_is_read_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    records: list[dict[str, Any]] = [dict(r) for r in (HEAD, STARTED, sent(), MEASURED, UPDATED)]
    record = data.draw(st.sampled_from(records))
    while True:
        key = data.draw(st.sampled_from(sorted(record)))
        if not isinstance(record[key], dict) or not record[key] or data.draw(st.booleans()):
            break
        record[key] = record = dict(record[key])
    record[key] = data.draw(Json)
    with contextlib.suppress(DataError):
        assert Past.read(forge(tmp_path, *records)).version <= 1


# Files


class Bomb:
    """Unpickling it leaves a mark."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.mark),)


SPACE = LoraSpace((Module("layers.0.down", 4, 6),), 2, 2.0)
ENGINE = {"device": "cpu", "lora": '{"basis":"activations"}'}


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("how", ["pickle", "header", "empty", "missing", "folder"])
def test_a_basis_that_is_none_is_refused_and_not_run(tmp_path: Path, how: str, known: bool) -> None:
    mark, basis = tmp_path / "mark", tmp_path / "basis.safetensors"
    match how:
        case "pickle":
            basis.write_bytes(pickle.dumps(Bomb(mark)))
        case "header":
            basis.write_bytes(struct.pack("<Q", 2**63) + b"{}")
        case "empty":
            basis.touch()
        case "folder":
            basis.mkdir()
    past = Past(tmp_path, {"engine": ENGINE}, Started("d", 12, 0, "0" * 32 if known else ""))
    with pytest.raises(DataError, match=r"basis.safetensors: (cannot be read|not as the run wrote it) .*restore it"):
        remake(past, SPACE, 0)
    assert not mark.exists()


def test_a_basis_that_was_changed_is_found_out(tmp_path: Path) -> None:
    import torch
    from safetensors.torch import save_file

    from aes.centre import Centre

    basis, digest = tmp_path / "basis.safetensors", Centre(SPACE.start({})).digest()
    save_file({"layers.0.down": torch.ones(2, 4)}, basis)
    past = Past(tmp_path, {"engine": ENGINE}, Started(digest, 12, 0, digest_of(basis)))
    theta, _ = remake(past, SPACE, 0)
    assert not theta.any()
    content = bytearray(basis.read_bytes())
    content[-1] ^= 1
    basis.write_bytes(content)
    with pytest.raises(DataError, match="not as the run wrote it"):
        remake(past, SPACE, 0)


async def finish(run: Run) -> None:
    async with run:
        await run.wait()


@pytest.mark.parametrize("name", ["journal.jsonl", "summary.json", "metrics.jsonl", "lock", "adapters/v00000/x.json"])
def test_a_folder_with_links_out_of_it_is_refused(shelf: ChatTask, virtual: Any, tmp_path: Path, name: str) -> None:
    folder, outside = tmp_path / "run", tmp_path / "precious"
    virtual(finish(Run(shelf, FakeEngine(), Config(updates=2, pairs=2, goals=2, eval_goals=2), folder)))
    lines = (folder / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "journal.jsonl").write_bytes(b"".join(lines[:10]))
    link = folder / name
    outside.write_bytes(link.read_bytes() if link.exists() else b"mine")
    before = outside.read_bytes()
    link.unlink(missing_ok=True)
    link.symlink_to(outside)
    with pytest.raises(DataError, match=f"{name} is a link; a run's files are its own"):
        Run.resume(shelf, FakeEngine(), folder)
    assert outside.read_bytes() == before


def test_a_folder_that_is_a_link_is_the_folder_it_names(shelf: ChatTask, virtual: Any, tmp_path: Path) -> None:
    folder, link = tmp_path / "run", tmp_path / "link"
    virtual(finish(Run(shelf, FakeEngine(), Config(updates=2, pairs=2, goals=2, eval_goals=2), folder)))
    link.symlink_to(folder)
    assert Past.read(link).finished
    journal = Journal.reopen(folder, lambda: 0.0)
    with pytest.raises(AesError, match="another process is writing to it"):
        Journal.reopen(link, lambda: 0.0)
    journal.close()


def test_names_that_look_like_paths_are_words(shelf: ChatTask, virtual: Any, tmp_path: Path) -> None:
    """A task's name and fingerprint, and a failure's words, come into files but never name one."""

    class Elsewhere(ChatTask):
        async def play(self, policy: Any, goal: Any, seed: int) -> Any:
            if goal % 7 == 0:
                raise ValueError("../../../outside\n\x1b[2J \udc80")
            return await super().play(policy, goal, seed)

    evil = "../../outside\0/~$(touch x)"
    task = Elsewhere(evil, shelf.make, shelf.train_goals, shelf.eval_goals, fingerprint={evil: evil})
    virtual(finish(Run(task, FakeEngine(), Config(updates=2, pairs=2, goals=4, eval_goals=2), tmp_path / "a" / "run")))
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["run"]
    assert Past.read(tmp_path / "a" / "run").about["task"] == {"name": evil, evil: evil}
    assert any("../../../outside" in record.get("reason", "") for record in read(tmp_path / "a" / "run"))
