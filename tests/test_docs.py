"""What the pages say, done: code blocks are run, commands are typed (in small), links lead somewhere."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from envs.webshop.catalog.generate import records
from tests.cli.conftest import Aes, aes

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")

FAKE = "--engine fake --products 50 --pairs 2 --goals 2 --eval-goals 4"
SMALL = {
    "train": f"{FAKE} --updates 2 --no-live --run-dir NEW",
    "fork": "--updates 22 --no-live --run-dir NEW",
    "resume": "--no-live",
    "replay": "",
    "eval": "",
}
"""What makes a command small enough for a test; the others are only asked for their help."""

__all__ = ["aes"]


def blocks(page: Path, language: str) -> list[str]:
    return [body for kind, body in BLOCK.findall(page.read_text()) if kind == language]


def commands(page: Path) -> list[str]:
    lines = "".join(blocks(page, "bash")).replace("\\\n", " ").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


FILES = {body.splitlines()[0].removeprefix("# "): body for page in PAGES for body in blocks(page, "python")}
"""Blocks by their first line, which names a file where the page has one."""

COMMANDS = sorted({line for page in PAGES for line in commands(page)})


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of WebShop's files."""
    folder = tmp_path_factory.mktemp("data")
    items, attributes = zip(*records(60, 0), strict=True)
    named = {item["asin"]: about for item, about in zip(items, attributes, strict=True)}
    (folder / "items_shuffle.json").write_text(json.dumps(items))
    (folder / "items_ins_v2.json").write_text(json.dumps(named))
    return folder


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run of 20 updates."""
    folder = tmp_path_factory.mktemp("runs") / "finished"
    command = [str(Path(sys.executable).with_name("aes")), "train", *FAKE.split(), "--updates", "20", "--no-live"]
    ran = subprocess.run([*command, "--run-dir", folder], capture_output=True, text=True, check=False, timeout=100)
    assert ran.returncode == 0, ran.stderr
    return folder


@pytest.fixture
def cut(finished: Path, tmp_path: Path) -> Path:
    """The same run, as a crash shortly before its end leaves it."""
    folder = tmp_path / "cut"
    shutil.copytree(finished, folder)
    journal = folder / "journal.jsonl"
    journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:-6]))
    return folder


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    assert [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name)
def test_code_runs_as_printed(page: Path, data: Path, tmp_path: Path) -> None:
    """All blocks of a page, one after the other, beside a folder DIR of WebShop's files."""
    (tmp_path / "DIR").symlink_to(data)
    code = "\n".join(blocks(page, "python"))
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=100)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "toml")], ids=lambda page: page.name)
def test_settings_are_settings(page: Path, aes: Aes, tmp_path: Path) -> None:
    for block in blocks(page, "toml"):
        (tmp_path / "run.toml").write_text(block)
        refused = aes("train", "--config", "run.toml", "--dry-run").err
        assert refused == "", refused


@pytest.mark.parametrize("line", COMMANDS, ids=lambda line: line.partition("#")[0].strip())
def test_commands_can_be_typed(
    line: str, aes: Aes, data: Path, finished: Path, cut: Path, tiny_model: Path, tmp_path: Path
) -> None:
    (tmp_path / "run.toml").write_text("pairs = 4\n")
    program, *words = shlex.split(line, comments=True)
    if program == "aes":
        here = {"RUN": cut if words[0] == "resume" else finished, "NAME_OR_PATH": tiny_model, "NEW": tmp_path / "new"}
        here["DIR"] = data if "--data" in words else tmp_path / "written"
        words += SMALL.get(words[0], "--help").split() if "--dry-run" not in words else []
        if "--task" in words:  # the page has its file too
            name = words[words.index("--task") + 1].partition(":")[0] + ".py"
            (tmp_path / name).write_text(FILES[name])
            del words[words.index("--products") : words.index("--products") + 2]
        typed = aes(*[here.get(word, word) for word in words])
        assert typed.code == 0, typed.err
    else:
        assert known(program, words), line


def known(program: str, words: list[str]) -> bool:
    """Whether a line that no test should run is at least about something that there is."""
    if program == "make":
        target = re.search(rf"^{words[0]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
        return target is not None
    if program in ("python", "bash"):
        return (ROOT / words[0]).is_file()
    if program == "pip":
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        return all(name in extras for name in re.findall(r"aes-runtime\[(.*?)\]", " ".join(words))[0].split(","))
    return program in ("curl", "export")
