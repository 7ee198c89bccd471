"""A driver that is killed, or whose disk is full: what it left behind is resumed to the same end."""

from __future__ import annotations

import random
import resource
import subprocess
from pathlib import Path

from benchmarks.kills import AES, QUICK, compare, digests, finish


def test_a_killed_driver_loses_nothing(tmp_path: Path) -> None:
    assert compare(tmp_path, QUICK, 1, random.Random(1)) == [True]


def test_a_full_disk_ends_the_run_in_one_line_and_loses_nothing(tmp_path: Path) -> None:
    whole, full = tmp_path / "whole", tmp_path / "full"
    finish("train", *QUICK, "--run-dir", str(whole))
    ended = subprocess.run(
        [*AES, "train", *QUICK, "--run-dir", str(full)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, 12_000)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    (line,) = ended.stderr.splitlines()
    assert line.startswith(f"aes: {full / 'journal.jsonl'}: cannot be written (File too large); it is whole up to here")
    assert 0 < len(digests(full)) < len(digests(whole))
    finish("resume", str(full))
    assert digests(full) == digests(whole)
