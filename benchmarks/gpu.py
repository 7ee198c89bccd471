"""One device against the floor: noise, members and updates with torch alone, and the whole with vLLM where it is there.

python benchmarks/gpu.py [--device cuda|cpu] [--small] [--no-vllm | --vllm-only] [--out FILE]

Sizes are those of LoRA at rank 32 on all linear layers of models with 1.5 and 7 thousand million parameters. A part
that fails is told and left out: on a machine that is lent for minutes the rest still counts.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent.parent))

from rich.console import Console

from aes import noise
from aes.centre import Centre
from aes.lora import LoraSpace, Module, random_basis
from aes.types import Member, Term, Update
from benchmarks import table
from benchmarks.machine import Machine, commit
from benchmarks.measure import Figure
from benchmarks.report import Report, Taken

PAIRS = 32
REPETITIONS = 5
SHAPES = {"1.5B": (28, 1536, 8960, 256), "7B": (28, 3584, 18944, 512)}
"""Layers, width, inner width and width of keys and values, as Qwen2.5 has them."""
SMALL = {"small": (2, 128, 256, 64)}
RANK = 32


def main() -> None:
    given = _arguments()
    device, console = torch.device(given.device), Console(width=None if sys.stdout.isatty() else 150)
    shapes = SMALL if given.small else SHAPES
    parts: dict[str, Callable[[], list[Figure]]] = {}
    if not given.vllm_only:
        for name, shape in shapes.items():
            parts[f"torch {name}"] = partial(_torch, name, space(*shape), device)
    if not given.no_vllm:
        parts["vLLM"] = partial(_vllm, given.device, given.small)
    taken = {name: found for name, part in parts.items() if (found := _take(name, part, console)) is not None}
    report = Report(Machine.here(), taken)
    console.print(table.terminal(report, None))
    report.write(given.out)
    sys.exit(len(taken) < len(parts))


def space(layers: int, width: int, inner: int, narrow: int) -> LoraSpace:
    """Adapters on every linear layer of such a model, both factors."""
    parts = {
        "self_attn.q_proj": (width, width),
        "self_attn.k_proj": (width, narrow),
        "self_attn.v_proj": (width, narrow),
        "self_attn.o_proj": (width, width),
        "mlp.gate_proj": (width, inner),
        "mlp.up_proj": (width, inner),
        "mlp.down_proj": (inner, width),
    }
    modules = [Module(f"model.layers.{n}.{part}", *sizes) for n in range(layers) for part, sizes in parts.items()]
    return LoraSpace(tuple(modules), RANK, float(RANK), "AB")


def _torch(name: str, layout: LoraSpace, device: torch.device) -> list[Figure]:
    """Noise, a member and an update over their floors, on one device."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    basis = random_basis(layout, 0)
    centre = Centre(layout.start(basis).to(device))
    vector = torch.zeros(layout.dim, device=device)
    on_device = {path: a.to(device) for path, a in basis.items()}

    def drawn() -> None:
        vector.add_(torch.randn(layout.dim, device=device), alpha=0.01)

    def member() -> list[torch.Tensor]:
        theta = centre.member(Member(0, 1, 1, 0.01))
        return [tensor.to(torch.bfloat16) for tensor in layout.tensors(theta, on_device).values()]

    def update() -> None:
        terms = tuple(Term(centre.newest * PAIRS + pair, 0.01) for pair in range(PAIRS))
        centre.advance(Update(centre.newest, terms))

    floor, direction, built, applied = (
        _milliseconds(work, device) for work in (drawn, lambda: noise.add_direction(vector, 1, 0.01), member, update)
    )
    size = {"parameters": layout.dim, "floor ms": min(floor)}
    return [
        _over(f"noise / floor, {name}", direction, floor, size),
        _over(f"member built in bfloat16 / floor, {name}", built, floor, size),
        _over(f"update of {PAIRS} pairs / {PAIRS} floors, {name}", applied, [PAIRS * one for one in floor], size),
        *_memory(name, layout.dim, device),
    ]


def _over(name: str, mine: Sequence[float], floor: Sequence[float], size: dict[str, float]) -> Figure:
    ratios = [one / least for one, least in zip(mine, floor, strict=True)]
    return Figure(name, "x", ratios, size | {"ms": min(mine)})


def _milliseconds(work: Callable[[], object], device: torch.device) -> list[float]:
    """Of each repetition, the device's own work waited for."""
    found = []
    for _ in range(REPETITIONS + 1):
        _wait(device)
        began = time.perf_counter()
        work()
        _wait(device)
        found.append((time.perf_counter() - began) * 1e3)
    return found[1:]  # the first warms up


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _memory(name: str, dim: int, device: torch.device) -> list[Figure]:
    """The most that torch held on the device, in vectors of theta's size; nothing where it does not count."""
    if device.type != "cuda":
        return []
    vectors = torch.cuda.max_memory_allocated(device) / (4 * dim)
    return [
        Figure(f"memory of noise, member and update, {name}", "vectors", [vectors], {"vector MiB": dim * 4 / 2**20})
    ]


def _vllm(device: str, small: bool) -> list[Figure]:
    """The pocket policy on WebShop, on one engine: its share of what the engine can do."""
    from benchmarks import engine_share
    from benchmarks.measure import Effort

    return engine_share.on(("cuda:0" if device == "cuda" else "cpu",), Effort(1 if small else REPETITIONS, small))


def _take(name: str, part: Callable[[], list[Figure]], console: Console) -> Taken | None:
    """The figures of one part; None, with the reason on the terminal, where it fails."""
    date, load, began = f"{datetime.now(UTC):%Y-%m-%d %H:%M}", os.getloadavg()[0], time.perf_counter()
    try:
        figures = part()
    except Exception:  # whatever a strange machine makes of it
        console.print(f"[red]{name} failed[/]")
        traceback.print_exc()
        return None
    seconds = time.perf_counter() - began
    console.print(f"{name}: {seconds:.0f} s")
    return Taken(tuple(figures), REPETITIONS, False, commit(), date, load, seconds)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="aes on one device, against the floor")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--small", action="store_true", help="sizes for a machine without a GPU")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--no-vllm", action="store_true", help="torch alone")
    which.add_argument("--vllm-only", action="store_true", help="vLLM alone")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results-gpu.json")
    return parser.parse_args()


if __name__ == "__main__":
    main()
