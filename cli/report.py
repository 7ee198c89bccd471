"""`aes report`: what a run or a study came to, as a page and as Markdown."""

from __future__ import annotations

from pathlib import Path

from cli.session import view_of
from cli.view.terminal import quiet


def report(folder: Path, to: Path | None) -> None:
    """Write the report on a run or a study and say where it is. Raises AesError."""
    from aes.report import write_report

    with quiet() as terminal:
        with view_of(terminal.console).working("reading journals and drawing"):
            page, markdown, *pictures = write_report(folder, to)
        beside = f"{markdown.name} and {len(pictures)} pictures beside it"
        terminal.console.print(f"{page} ({beside})", markup=False, highlight=False, soft_wrap=True)
