"""`aes doctor`: whether this machine can train, line by line, each with its cure."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from aes.journal import to_json
from cli.doctor import canary, hardware, software, storage
from cli.doctor.finding import Finding
from cli.settings import TrainSettings
from cli.view.safe_text import safe
from cli.view.terminal import quiet, unclipped

_STYLES = {"ok": "green", "warning": "yellow", "wrong": "bold red"}


def doctor(*, engine: bool, as_json: bool) -> bool:
    """Look at everything and print what was found; whether nothing is wrong. Raises Interrupted."""
    findings = []
    log = Path(tempfile.mkdtemp(prefix="aes-doctor-")) / "engine.log"
    with quiet() as terminal:
        terminal.chatter_to(log)
        console = unclipped(terminal.console)
        for finding in _look(console, log, engine=engine):
            findings.append(finding)
            if not as_json:
                _show(finding, console)
    well = all(finding.grade != "wrong" for finding in findings)
    if not any(str(log) in finding.cure for finding in findings):
        shutil.rmtree(log.parent)
    if as_json:
        print(to_json({"well": well, "findings": [asdict(finding) for finding in findings]}, indent=2))
    return well


def _look(console: Console, log: Path, *, engine: bool) -> Iterator[Finding]:
    yield software.python()
    yield software.packages()
    with console.status("importing torch"):
        finding, torch = software.torch()
    yield finding
    yield software.torchvision()
    with console.status("importing vllm"):
        finding = software.vllm()
    yield finding
    for look in _quick(torch):
        yield look()
    if not engine:
        return
    if finding.grade != "ok":
        yield Finding("engine", "warning", "not tried: see vllm above", "mend vllm first")
        return
    with console.status("starting a vLLM engine, some tens of seconds"):
        finding = canary.engine(log, lambda words: None)
    yield finding


def _quick(torch: software.Torch | None) -> Iterator[Callable[[], Finding]]:
    yield lambda: hardware.graphics(torch)
    yield hardware.processor
    yield lambda: hardware.memory(TrainSettings.model_fields["cache_gib"].default)
    yield hardware.shared_memory
    yield storage.cache
    yield storage.models
    yield storage.runs
    yield _encoding


def _encoding() -> Finding:
    encoding = sys.stdout.encoding or ""
    if encoding.lower().replace("-", "") != "utf8":
        return Finding("terminal", "warning", f"its encoding is {encoding}: no charts", "export PYTHONUTF8=1")
    return Finding("terminal", "ok", "utf-8")


def _show(finding: Finding, console: Console) -> None:
    row = Table.grid()
    row.add_column(width=9)
    row.add_column(width=10)
    row.add_column(overflow="fold")
    body = Text(safe(finding.found))
    if finding.cure:
        body.append(f"\ncure: {safe(finding.cure)}", "cyan")
    row.add_row(Text(finding.grade, _STYLES[finding.grade]), Text(finding.what, "bold"), body)
    console.print(row)
