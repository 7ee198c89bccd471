"""Start-up: seconds from `aes train` to the first episode of training, cold and warm.

Cold makes the pocket policy first, warm finds it in the cache. Before the first episode lie the start of Python and of
vLLM, 64 calibration episodes, the canary. The floor is what vLLM alone takes to its first token.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.ground import Ground
from benchmarks.machine import ROOT
from benchmarks.measure import Effort, Figure

AES = (sys.executable, "-c", "from cli.aes_app import main; main()")
RUN = ("--updates", "1", "--pairs", "2", "--goals", "1", "--eval-goals", "0", "--no-live")
COLD_REPETITIONS = 1
LIMIT_S = 900.0

VLLM = """
import sys
from vllm import LLM, SamplingParams

if __name__ == "__main__":
    llm = LLM(model=sys.argv[1], max_model_len=2048, enforce_eager=True, disable_log_stats=True)
    llm.generate([{"prompt_token_ids": [20, 21, 22]}], SamplingParams(max_tokens=1, detokenize=False), use_tqdm=False)
"""


def figures(effort: Effort) -> list[Figure]:
    """Warm over vLLM alone, and the seconds; cold once, since it takes minutes, and not for a quick look."""
    model = Ground.of().model.name  # made here where it is not cached
    floors, warm = list[float](), list[float]()
    for _ in range(effort.repetitions):
        floors.append(_vllm_alone(model))
        warm.append(_first_episode(None))
    detail = {"vLLM alone s": sum(floors) / len(floors)}
    found = [
        Figure("start-up, warm", "s", warm, detail),
        Figure("start-up, warm / vLLM alone", "x", [mine / floor for mine, floor in zip(warm, floors, strict=True)]),
    ]
    if not effort.quick:
        cold = list[float]()
        for _ in range(min(effort.repetitions, COLD_REPETITIONS)):
            with tempfile.TemporaryDirectory() as cache:
                cold.append(_first_episode(cache))
        found.append(Figure("start-up, cold", "s", cold))
    return found


def _first_episode(cache: str | None) -> float:
    """Seconds until the journal tells of the first dispatch. Raises RuntimeError where the run ends before."""
    environment = os.environ | ({"AES_CACHE": cache} if cache else {})
    with tempfile.TemporaryDirectory() as folder:
        run, log = Path(folder) / "run", Path(folder) / "log"
        with log.open("w") as out:
            began = time.perf_counter()
            process = subprocess.Popen([*AES, "train", *RUN, "--run-dir", str(run)], cwd=ROOT, env=environment,
                                       stdin=subprocess.DEVNULL, stdout=out, stderr=out)  # fmt: skip
            try:
                while not _dispatched(run / "journal.jsonl"):
                    if process.poll() is not None or time.perf_counter() - began > LIMIT_S:
                        raise RuntimeError(f"aes train dispatched nothing; it said: {log.read_text()[-2000:]}")
                    time.sleep(0.02)
                return time.perf_counter() - began
            finally:
                process.terminate()
                process.wait()


def _dispatched(journal: Path) -> bool:
    return journal.is_file() and '"event":"Dispatched"' in journal.read_text().replace(" ", "")


def _vllm_alone(model: str) -> float:
    """Seconds from the start of Python to vLLM's first token."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "alone.py"
        script.write_text(VLLM)
        environment = os.environ | {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_LOGGING_LEVEL": "ERROR", "HF_HUB_OFFLINE": "1"}
        began = time.perf_counter()
        subprocess.run([sys.executable, script, model], cwd=folder, env=environment, check=True, capture_output=True)
        return time.perf_counter() - began
