"""A run at a glance: its state, how far it is and how it scores, read from its journal without taking its lock."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from aes.config import Config, explain
from aes.errors import AesError, DataError
from aes.events import Evaluated
from aes.journal import NAME, Reader
from aes.lock import held
from aes.metrics import interval
from aes.past import Past, counted
from aes.study.plan import NAME as STUDY

State = Literal["running", "finished", "stopped", "broken"]

_OURS = (NAME, "run.json", "summary.json", "engine.log", "lock")
_EVALUATED = TypeAdapter(Evaluated)
_KIND = slice(len('{"event":"'), len('{"event":"Updat'))
_KINDS = {b"Updat": "update", b"Inher": "update", b"Evalu": "evaluation", b"Finis": "end"}
"""What the lines that matter here are, by how the names of their events begin."""


@dataclass(frozen=True)
class Glance:
    """What a list or a comparison tells of a run.

    Attributes:
        state: `running` while somebody holds its lock; `broken` where its journal is none, and `why` says so.
        about: what the run was told, as in `aes.past.Past`.
        config: None where it is broken.
        version: updates that are done.
        evaluations: version -> how the centre did on the held-out goals.
        seconds: when its last event happened, on the run's own clock.
        written: when its journal was last written to, in seconds since the epoch; 0 where that is not known.
    """

    folder: Path
    state: State
    why: str = ""
    about: dict[str, Any] = field(default_factory=dict)
    config: Config | None = None
    version: int = 0
    evaluations: dict[int, Evaluated] = field(default_factory=dict)
    seconds: float = 0.0
    written: float = 0.0

    @property
    def best(self) -> int | None:
        """The version with the best score, the newest of equal ones; None before the first evaluation."""
        means = {version: interval(list(e.scores))[0] for version, e in self.evaluations.items()}
        known = {version: mean for version, mean in means.items() if mean == mean}
        return max(known, key=lambda version: (known[version], version), default=None)

    @property
    def last(self) -> int | None:
        """The last version that was evaluated."""
        return max(self.evaluations, default=None)


def look(folder: Path) -> Glance:
    """Look at a run folder. What is no run, or a broken one, is told and never raised."""
    try:
        return glance(folder)
    except (AesError, OSError) as error:
        return Glance(folder, "broken", why=_words(error, folder), written=_written(folder))


def glance(folder: Path) -> Glance:
    """Look at a run folder. Raises DataError, ConfigError, OSError for what is no run or a broken one.

    Every line is proved by its checksum, but only what is shown is decoded: a journal of 10 MB takes 20 ms.
    """
    running = held(folder)
    reader = Reader(folder)
    past, _ = Past.begin(reader)
    config, version, finished, body = Config.parse(past.about["config"]), 0, False, b""
    evaluations = {}
    for body in reader.lines():
        match _KINDS.get(body[_KIND]):
            case "update":
                version += 1
            case "evaluation":
                evaluation = _evaluated(reader, body)
                evaluations[evaluation.version] = evaluation
            case "end":
                finished = True
    seconds = reader.record(body)["at"] if body else 0.0
    state: State = "finished" if finished else "running" if running else "stopped"
    return Glance(folder, state, "", past.about, config, version, evaluations, seconds, _written(folder))


def is_run(folder: Path) -> bool:
    """Whether a folder holds a run, or what is left of one."""
    try:
        ours = folder.is_dir() and any(os.path.lexists(folder / name) for name in _OURS)
    except OSError:
        return True  # it may: who looks is told what is wrong
    return ours and not is_study(folder)


def is_study(folder: Path) -> bool:
    """Whether a folder holds the runs of a study."""
    return os.path.lexists(folder / STUDY)


def _evaluated(reader: Reader, body: bytes) -> Evaluated:
    record = reader.record(body)
    try:
        told = {key: value for key, value in record.items() if key not in ("event", "at")}
        evaluation: Evaluated = _EVALUATED.validate_python(told)
    except ValidationError as error:
        problem = explain(error.errors(include_url=False)[0], ())
        raise DataError(f"{reader.path}:{reader.number}: not an event of this version of aes ({problem})") from None
    if not counted(evaluation):
        raise DataError(f"{reader.path}:{reader.number}: an evaluation that no run of aes wrote (restore the journal)")
    return evaluation


def _written(folder: Path) -> float:
    try:
        return (folder / NAME).lstat().st_mtime
    except OSError:
        return 0.0


def _words(error: Exception, folder: Path) -> str:
    """What is wrong, without the folder, which stands beside it."""
    text = f"cannot be read ({error.strerror})" if isinstance(error, OSError) else str(error)
    return text.replace(f"run {folder}: ", "").replace(f"{folder}{os.sep}", "")
