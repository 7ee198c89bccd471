"""The wheel, built once from this checkout and used as its users have it: away from the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pydantic
import pytest

ROOT = Path(__file__).parent.parent
Ran = subprocess.CompletedProcess[str]
Installed = Callable[..., Ran]

OWN = "__path__ = __import__('pkgutil').extend_path(__path__, __name__)\n"
"""The line that the README gives to projects with regular packages of these names."""


def run(*command: object, cwd: Path = ROOT) -> Ran:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    words = [str(word) for word in command]
    return subprocess.run(words, capture_output=True, text=True, check=False, cwd=cwd, env=environment, timeout=120)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    built = run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder)
    assert built.returncode == 0, built.stdout + built.stderr
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment that holds the wheel, sees this one's libraries, and nothing of the checkout."""
    folder = tmp_path_factory.mktemp("venv")
    assert run(sys.executable, "-m", "venv", "--without-pip", folder).returncode == 0
    pip = [sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "--disable-pip-version-check"]
    installed = run(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel)
    assert installed.returncode == 0, installed.stdout + installed.stderr
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "libraries.pth").write_text(
        f"{Path(pydantic.__file__).parent.parent}\n"
    )  # its own .pth files stay unread
    return folder / "bin"


def test_it_holds_the_packages_and_nothing_else(wheel: Path) -> None:
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    tracked = run("git", "ls-files", "aes", "envs", "cli").stdout.split()
    if not tracked:
        pytest.skip("not a git checkout: nothing tells which files belong to the packages")
    assert held >= {name for name in tracked if (ROOT / name).exists()}
    assert {name.split("/")[0] for name in held} == {"aes", "envs", "cli"}
    assert {"aes/py.typed", "envs/webshop/py.typed", "cli/py.typed"} <= held


def test_its_metadata_names_the_licence_and_every_extra(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (metadata,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    lines = archive.read(metadata).decode().splitlines()
    assert "License-Expression: Apache-2.0" in lines
    assert {"Provides-Extra: cpu", "Provides-Extra: gpu", "Provides-Extra: report"} <= set(lines)


def test_the_command_line_trains(environment: Path, tmp_path: Path) -> None:
    where = run(environment / "python", "-c", "import aes; print(aes.__file__)", cwd=tmp_path).stdout
    assert Path(where).is_relative_to(environment.parent)
    small = ["--engine", "fake", "--products", 50, "--updates", 2, "--pairs", 2, "--goals", 2, "--eval-goals", 4]
    trained = run(environment / "aes", "train", *small, "--no-live", "--run-dir", "run", cwd=tmp_path)
    assert trained.returncode == 0, trained.stdout + trained.stderr
    assert (tmp_path / "run" / "summary.json").is_file()


def test_every_module_imports(environment: Path, wheel: Path, tmp_path: Path) -> None:
    """Save those of the engines, which need vLLM: it takes its time."""
    held = [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".py")]
    names = [name for name in held if not name.startswith("aes/engine/")]
    modules = [name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in names]
    code = f"import importlib\nfor name in {modules}: importlib.import_module(name)"
    imported = run(environment / "python", "-c", code, cwd=tmp_path)
    assert imported.returncode == 0, imported.stderr


@pytest.mark.parametrize("line", ["", OWN])
def test_beside_a_users_own_packages_of_these_names(environment: Path, tmp_path: Path, line: str) -> None:
    """Without the line theirs hides ours, as Python has it; with it both are there."""
    for package in ("envs", "cli"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text(line)
        (tmp_path / package / "mine.py").write_text("MINE = True\n")
    code = "import envs.mine, cli.mine, envs.webshop, cli.settings"
    tried = run(environment / "python", "-c", code, cwd=tmp_path)
    assert (tried.returncode == 0) == bool(line), tried.stderr
