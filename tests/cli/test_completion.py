"""Shell completion: Typer's own, switched on; commands, flags and the values of a flag come up."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Aes


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("aes tr", {"train"}),
        ("aes train --on-stale ", {"wait", "drop"}),
        ("aes train --estimator z", {"zscore"}),
        ("aes train --stale", {"--stale-frac"}),
        ("aes runs --sort s", {"state", "score"}),
        ("aes config --on-stale w", {"wait"}),
    ],
)
def test_words_are_completed(line: str, offered: set[str], aes: Aes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_AES_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
    outcome = aes()
    assert (outcome.code, set(outcome.out.split()), outcome.err) == (0, offered, "")


def test_bash_completes_with_the_script_that_aes_shows(tmp_path: Path) -> None:
    bash, aes = shutil.which("bash"), Path(sys.executable).with_name("aes")
    if bash is None or not aes.exists():
        pytest.skip("needs bash and an installed aes")
    script = 'eval "$(aes --show-completion bash)"; COMP_WORDS=(aes train --basis ""); COMP_CWORD=3; '
    script += '_aes_completion aes; echo "${COMPREPLY[@]}"'
    path = f"{aes.parent}:/usr/bin:/bin"
    done = subprocess.run(
        [bash, "--norc", "-c", script], capture_output=True, text=True, check=True, env={"PATH": path}, timeout=60
    )
    assert (done.stdout.split(), done.stderr) == (["random", "activations"], "")
