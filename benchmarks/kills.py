"""Kill a controlled run with SIGKILL at random moments, resume it, and compare it with the same run left alone.

python benchmarks/kills.py [--kills 25] [--seed 0] [-- FLAGS OF AES TRAIN]

Every kill gets a run of its own. Without flags the fake engine is used.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

QUICK = (
    *("--engine", "fake", "--products", "60", "--pairs", "4", "--goals", "4", "--updates", "12"),
    *("--eval-every", "4", "--eval-goals", "20", "--max-lag", "2", "--stale-frac", "0.5"),
)
AES = [sys.executable, "-c", "from cli.aes_app import main; main()"]
ROOT = Path(__file__).parent.parent


def digests(folder: Path) -> list[str]:
    """The digest of every version that the run made, as far as its journal is whole."""
    lines = (folder / "journal.jsonl").read_bytes().splitlines(keepends=True)
    records = [json.loads(line) for line in lines if line.endswith(b"\n")]
    return [record["digest"] for record in records if record["event"] == "Updated"]


def start(*arguments: str) -> subprocess.Popen[bytes]:
    """`aes` in a process group of its own."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [*AES, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": path},
        start_new_session=True,
    )


def finish(*arguments: str) -> None:
    """Run `aes` to its end, which must be a good one."""
    process = start(*arguments)
    _, said = process.communicate()
    if process.returncode:
        raise SystemExit(f"aes {' '.join(arguments)} ended with {process.returncode}: {said.decode()}")


def kill_at(process: subprocess.Popen[bytes], journal: Path, size: int) -> bool:
    """Kill the driver once its journal has so many bytes; False where it ended before."""
    while process.poll() is None:
        if journal.exists() and journal.stat().st_size >= size:
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
            return True
        time.sleep(0.0005)
    process.communicate()
    return False


def main() -> None:
    parser = argparse.ArgumentParser(description="kill and resume")
    parser.add_argument("--kills", type=int, default=25)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("flags", nargs="*", default=list(QUICK))
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as scratch:
        ends = compare(Path(scratch), arguments.flags, arguments.kills, rng)
    print(f"{sum(ends)} of {len(ends)} resumed runs had all digests of the run left alone")
    sys.exit(not all(ends))


def compare(scratch: Path, flags: Sequence[str], kills: int, rng: random.Random) -> list[bool]:
    """Whether each killed and resumed run ended with the digests of the run left alone."""
    alone = scratch / "alone"
    finish("train", *flags, "--run-dir", str(alone))
    journal = (alone / "journal.jsonl").read_bytes()
    wanted, header = digests(alone), len(journal.partition(b"\n")[0])
    ends = []
    for number in range(1, kills + 1):
        folder, place = scratch / f"killed{number}", rng.randrange(header, len(journal))
        if not kill_at(start("train", *flags, "--run-dir", str(folder)), folder / "journal.jsonl", place):
            print(f"kill {number}: too late, the run had ended")
            continue
        held = len(digests(folder))
        finish("resume", str(folder))
        ends.append(digests(folder) == wanted)
        print(f"kill {number}: at byte {place}, version {held}: {'same' if ends[-1] else 'DIFFERS'}", flush=True)
    return ends


if __name__ == "__main__":
    main()
