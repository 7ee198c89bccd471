"""Two games at a real terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import subprocess
import sys
import termios

from tests.cli.conftest import Outcome

COMMAND = [sys.executable, "-c", "from cli.aes_app import main; main()", "play"]


def at_a_terminal(typed: bytes, **environment: str) -> Outcome:
    """Play at a terminal of its own, 60 columns wide; the last key is pressed until the game ends."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [*COMMAND, "--products", "40", "--goal", "0"],
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.PIPE,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "60", **environment},
        start_new_session=True,
        preexec_fn=_take_terminal,
    )
    os.close(theirs)
    out = b""
    try:
        while b"> " not in out:
            out += os.read(ours, 65536)
        os.write(ours, typed)
        for _ in range(300):
            # Python loses a Ctrl-C that comes just before it waits for a key; a person presses it again, after a while:
            # one that comes while Python leaves ends it as the signal would.
            if not select.select([ours], [], [], 3)[0]:
                os.write(ours, typed[-1:])
            out += os.read(ours, 65536)
    except OSError:  # how a terminal says that the last program has left
        pass
    finally:
        os.close(ours)
    _, err = child.communicate(timeout=60)
    return Outcome(child.returncode, out.decode(), err.decode())


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def test_ctrl_d_quits() -> None:
    code, out, err = at_a_terminal(b"<r>\r1\r\x04")
    assert (code, err) == (0, "")
    assert "\x1b[" in out
    assert "buy now" in re.sub(r"\x1b\[[0-9;?]*[a-z]", "", out)


def test_ctrl_c_ends_with_130_and_no_traceback() -> None:
    code, out, err = at_a_terminal(b"half a li\x03", NO_COLOR="1")
    assert (code, err) == (130, "")
    assert "38;5" not in out
