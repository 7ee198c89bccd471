"""Tasks of the user's own on the command line: trained, resumed, evaluated and forked, and refused in one line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aes.errors import ConfigError
from cli import tasks
from tests.cli.conftest import Aes

MODULE = """
from aes import AgentTask

async def play(policy, goal, seed):
    colour = ("red", "blue")[goal % 2]
    reply = await policy.complete([{"role": "user", "content": f"{colour} please\\ntake[red] take[blue]"}])
    return float(reply.text == f"take[{colour}]")

def task():
    return AgentTask("colours", play, range(40), range(40, 60), {"rules": VERSION})

VERSION = "1"
"""
SMALL = ("--engine", "fake", "--pairs", 8, "--goals", 8, "--updates", 2, "--max-lag", 0)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a package `mine` in it; what is imported is forgotten afterwards."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "colours.py").write_text(MODULE)
    yield tmp_path
    forget()


def forget() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] in ("mine", "other")]:
        del sys.modules[name]


def test_it_is_trained_evaluated_and_forked(shop: Path, aes: Aes) -> None:
    code, out, err = aes("train", "--task", "mine.colours:task", *SMALL, "--run-dir", "run")
    assert (code, err) == (0, "")
    assert "colours, of mine.colours:task" in out
    assert "40 to train on, 20 of 20 held out" in out
    summary = json.loads((shop / "run" / "summary.json").read_text())
    scores = {entry["version"]: entry["score"] for entry in summary["evaluations"]}
    assert scores[2] > scores[0]
    assert json.loads((shop / "run" / "run.json").read_text())["about"]["task"] == "mine.colours:task"

    code, out, err = aes("eval", "run")
    assert (code, err) == (0, "")
    assert f"{scores[2]:.3f}" in out
    assert "train split" in aes("eval", "run", "--split", "train").out
    assert "take train or test" in aes("eval", "run", "--split", "dev").err
    assert aes("replay", "run").code == 0
    assert aes("fork", "run", "--at", 1, "--updates", 3, "--run-dir", "branch").code == 0
    (made,) = aes("train", "--task", "mine.colours:task", *SMALL) and (shop / "runs").iterdir()
    assert made.name.endswith("-mine-colours-task-s0")


def test_it_is_resumed_and_only_as_the_task_it_was(shop: Path, aes: Aes) -> None:
    assert aes("train", "--task", "mine.colours:task", *SMALL, "--run-dir", "run").code == 0
    journal = shop / "run" / "journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    cut = next(number for number, line in enumerate(lines) if '"event":"Updated"' in line)
    journal.write_text("".join(lines[: cut + 1]))
    whole = journal.read_bytes()
    assert aes("resume", "run").code == 0
    journal.write_bytes(whole)

    forget()
    (shop / "mine" / "colours.py").write_text(MODULE.replace('"1"', '"2"'))
    outcome = aes("resume", "run")
    assert outcome.code == 2
    assert "its task's rules was 1, here it is 2" in outcome.err
    forget()
    (shop / "mine" / "colours.py").unlink()
    assert "no module 'mine.colours'" in aes("resume", "run").err


@pytest.mark.parametrize(
    ("source", "name", "said"),
    [
        (None, "mine.nothing:task", "no module 'mine.nothing' (run aes in the folder that holds it, or install it)"),
        (None, "nowhere.at.all:task", "no module 'nowhere'"),
        ("import nowhere_at_all", "mine.broken:task", "importing mine.broken raised ModuleNotFoundError"),
        ("def task(:", "mine.broken:task", "importing mine.broken raised SyntaxError"),
        ("1 / 0", "mine.broken:task", "raised ZeroDivisionError: division by zero (at mine/broken.py:1)"),
        ("raise SystemExit(3)", "mine.broken:task", "importing mine.broken raised SystemExit"),
        ("def tusk(): ...", "mine.broken:task", "mine.broken has no 'task'; did you mean 'tusk'?"),
        ("task = 3", "mine.broken:task", "no function but a int (name a function that returns the task)"),
        (
            "def task(size): ...",
            "mine.broken:task",
            "it raised TypeError: task() missing 1 required",
        ),
        (
            "def task(): 1 / 0",
            "mine.broken:task",
            "raised ZeroDivisionError: division by zero (at mine/",
        ),
        ("def task(): ...", "mine.broken:task", "it returned a NoneType without name, train_goals"),
        ("async def task(): ...", "mine.broken:task", "it returned a coroutine without name"),
    ],
)
def test_what_is_no_task_is_said_in_one_line(
    shop: Path, refused: Callable[..., str], source: str | None, name: str, said: str
) -> None:
    if source is not None:
        (shop / "mine" / "broken.py").write_text(source)
    assert said in refused("train", "--task", name, *SMALL)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("name = 3", "whose name is no text"),
        ("train_goals = 7", "that can't be read: TypeError"),
        ("fingerprint = {'rules': 1}", "whose fingerprint holds other things than texts"),
        ("@property\n    def eval_goals(self): return 1 / 0", "that can't be read: ZeroDivisionError"),
    ],
)
def test_a_task_with_a_part_that_is_none(shop: Path, change: str, said: str) -> None:
    parts = "name, train_goals, eval_goals, fingerprint = 'x', (1,), (2,), {}\n    def play(self): ..."
    (shop / "mine" / "broken.py").write_text(f"class Odd:\n    {parts}\n    {change}\n")
    sys.path.insert(0, str(shop))
    with pytest.raises(ConfigError, match=said):
        tasks.load("mine.broken:Odd")


def test_python_s_own_modules_are_no_tasks_and_nothing_in_them_is_called(refused: Callable[..., str]) -> None:
    assert "a module of Python itself" in refused("train", "--task", "os:abort", *SMALL)


def test_what_only_webshop_has_and_the_pocket_policy_are_refused_beside_it(
    shop: Path, refused: Callable[..., str]
) -> None:
    flags = ("--engine", "fake")
    assert "only webshop has it" in refused("train", "--task", "mine.colours:task", *flags, "--products", 60)
    assert "name a --model" in refused("train", "--task", "mine.colours:task")
    assert "holds 20 (lower --eval-goals)" in refused(
        "train", "--task", "mine.colours:task", *flags, "--eval-goals", 21
    )


def test_plays_that_return_the_wrong_thing_end_the_run_in_one_line(shop: Path, aes: Aes) -> None:
    source = MODULE.replace('return float(reply.text == f"take[{colour}]")', "return {'fitness': 1.0}")
    (shop / "mine" / "colours.py").write_text(source)
    code, _, err = aes("train", "--task", "mine.colours:task", *SMALL, "--eval-goals", 0, "--run-dir", "run")
    assert code == 1
    assert len(err.splitlines()) == 1
    assert "result: play returned dict, not an Episode" in err
