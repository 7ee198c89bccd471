"""Reports: what a run or a study came to, read from journals alone, as a page, as Markdown and as pictures."""

from aes.report.report import write_report

__all__ = ["write_report"]
