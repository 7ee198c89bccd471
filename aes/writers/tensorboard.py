"""TensorBoard: the rows of `metrics.jsonl` as scalars, for a run beside which nobody sits."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Self

from aes.errors import UsageError
from aes.events import Evaluated, Event, Updated
from aes.journal import writing
from aes.metrics import Metrics

_WAITING = 100_000  # scalars: so many never wait, and to wait for the disk would hold up the event loop
_FLUSH_S = 10


class TensorBoard:
    """A listener that writes event files to a folder; a thread of TensorBoard's own does the writing.

    Steps are versions and names are those of `metrics.jsonl`. A resumed run tells its past again: what earlier files of
    the folder hold is then replaced, not doubled. Leave it (or `close`) to have everything on disk.

    Example:
        with TensorBoard(folder / "tensorboard") as board:
            async with Run(task, engine, config, folder, listeners=[board]) as run:
                await run.wait()

    Raises:
        UsageError: tensorboard is not installed.
        RunFailed: the folder cannot be written to, at once or when a later event comes.
    """

    def __init__(self, folder: Path) -> None:
        if not installed():
            raise UsageError("tensorboard is not installed (pip install 'aes-runtime[tensorboard]')")
        from torch.utils.tensorboard import SummaryWriter

        self._folder = folder
        self._metrics = Metrics()
        with writing(folder):
            self._writer = SummaryWriter(str(folder), purge_step=0, max_queue=_WAITING, flush_secs=_FLUSH_S)

    def __call__(self, event: Event) -> None:
        """Write what an update or an evaluation came to; never waits for the disk."""
        self._metrics(event)
        if isinstance(event, Updated | Evaluated):
            row = self._metrics.row(event)
            version = row.pop("version")
            with writing(self._folder):
                for name, value in row.items():
                    if value is not None:
                        self._writer.add_scalar(name, float(value), version)

    def close(self) -> None:
        """Write what still waits, and close the files. Blocks for some milliseconds."""
        with writing(self._folder):
            self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def installed() -> bool:
    """Whether the package is there."""
    return importlib.util.find_spec("tensorboard") is not None
