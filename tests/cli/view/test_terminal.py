from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import os, subprocess, sys
from pathlib import Path
from cli.view.terminal import quiet
print("before")
with quiet() as terminal:
    os.write(1, b"lost")
    terminal.chatter_to(Path(sys.argv[1]))
    terminal.console.print("shown")
    print("from python")
    print("a warning", file=sys.stderr)
    subprocess.run(["echo", "from a child"])
print("after")
"""


def test_only_our_own_words_reach_the_terminal(tmp_path: Path) -> None:
    log = tmp_path / "folder" / "engine.log"
    command = [sys.executable, "-c", PROGRAM, str(log)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["before", "shown", "after"]
    assert done.stderr == ""
    assert log.read_text().splitlines() == ["from python", "a warning", "from a child"]
