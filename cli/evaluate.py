"""`aes eval`: any version of a run, rebuilt from its journal, on any split."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aes import journal
from aes.config import Config
from aes.errors import ConfigError, DataError, DigestMismatch
from aes.evaluation import evaluate
from aes.events import Evaluated
from aes.protocols import Engine, Task
from aes.types import Term, Update
from cli import assemble, signals
from cli.errors import Refused
from cli.live import LiveView
from cli.plain import PlainView
from cli.plan import device_checks
from cli.results import one
from cli.settings import TrainSettings
from cli.terminal import quiet
from envs.webshop.catalog.splits import Split


@dataclass(frozen=True)
class Record:
    """A run as its folder tells it: the settings, what its engine was, and version 0 with the updates upon it."""

    folder: Path
    settings: TrainSettings
    task: dict[str, str]
    engine: dict[str, str]
    digests: tuple[str, ...]
    updates: tuple[Update, ...]
    base: Evaluated | None

    @classmethod
    def read(cls, folder: Path) -> Record:
        """Read a run folder. Raises DataError for what is no run, or a broken one."""
        about = _about(folder)
        records = list(journal.read(folder))
        started = [record["digest"] for record in records if record["event"] == "Started"]
        if not started:
            raise DataError(f"run {folder}: it ended before version 0 was made (nothing to evaluate)")
        updated = [record for record in records if record["event"] == "Updated"]
        return cls(
            folder=folder,
            settings=TrainSettings.parse(about["about"]),
            task=about["task"],
            engine=about["engine"],
            digests=(started[0], *(record["digest"] for record in updated)),
            updates=tuple(_update(record["update"]) for record in updated),
            base=next((_evaluated(record) for record in records if _is_base(record)), None),
        )


def evaluate_run(folder: Path, version: int | None, split: Split, goals: int | None, devices: str | None) -> None:
    """Evaluate one version of a run (None: its last) and print the result. Raises AesError, Interrupted."""
    record = Record.read(folder)
    last = len(record.updates)
    version = last if version is None else version
    if not 0 <= version <= last:
        raise ConfigError(f"--version {version}: the run has versions 0 to {last} (name one of them)")
    settings = record.settings
    if devices:
        settings = TrainSettings.parse(settings.model_dump() | {"devices": devices})
    if complaints := list(device_checks(settings)):
        raise Refused(complaints)
    with quiet() as terminal:
        terminal.chatter_to(folder / "engine.log")
        view = LiveView(terminal.console) if terminal.console.is_terminal else PlainView(terminal.console)
        catalog = assemble.open_catalog(settings)
        task = assemble.open_task(settings, catalog, split)
        _same_task(record, task)
        with view.working("model") as progress:
            engine = assemble.open_engine(settings, assemble.open_model(settings, catalog, progress))
        _same_model(record, engine)
        chosen = _goals(task.eval_goals, goals, settings.eval_goals or len(task.eval_goals), split)
        evaluation = signals.run(
            _replay(record, version, task, engine, settings.config, chosen, view), terminal.console.print
        )
        comparable = split == settings.eval_split and version > 0
        terminal.console.print(one(evaluation, record.base if comparable else None))


async def _replay(
    record: Record,
    version: int,
    task: Task,
    engine: Engine,
    config: Config,
    goals: Sequence[Any],
    view: LiveView | PlainView,
) -> Evaluated:
    """Rebuild a version in the engine and have it play. Raises DigestMismatch where the rebuilt one is another."""
    async with AsyncExitStack() as stack:
        with view.working("starting the engine"):
            await stack.enter_async_context(engine)
        with view.working(f"replaying {version} updates"):
            digest, _ = await engine.start(config.seed, config.sigma, record.folder / "basis.safetensors")
            _same_digest(record, 0, digest)
            for update in record.updates[:version]:
                advanced = await engine.advance(update, (), ())
                _same_digest(record, update.version + 1, advanced.digest)
        with view.working(f"playing {len(goals)} goals with version {version}"):
            return await evaluate(task, engine, config, version, goals)


def _about(folder: Path) -> dict[str, Any]:
    path = folder / "run.json"
    try:
        about: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"run {folder}: no run.json in it (name the folder of a run)") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: not readable as JSON ({error})") from None
    if not isinstance(about.get("about"), dict):
        raise DataError(f"run {folder}: it was not made by aes train (its own program must evaluate it)")
    return about


def _update(record: dict[str, Any]) -> Update:
    terms = tuple(Term(term["seed"], term["coefficient"]) for term in record["terms"])
    return Update(record["version"], terms, record["shrink"], record["momentum"])


def _is_base(record: dict[str, Any]) -> bool:
    return bool(record["event"] == "Evaluated" and record["version"] == 0)


def _evaluated(record: dict[str, Any]) -> Evaluated:
    scores = tuple(math.nan if score is None else score for score in record["scores"])
    rest = (record[name] for name in ("successes", "failures", "seconds", "task"))
    return Evaluated(record["version"], scores, *rest)


def _goals(goals: Sequence[Any], wanted: int | None, usual: int, split: Split) -> Sequence[Any]:
    if wanted is not None and not 1 <= wanted <= len(goals):
        raise ConfigError(f"--goals {wanted}: the {split} split holds {len(goals)} (take 1 to {len(goals)})")
    return goals[: wanted or usual]


def _same_task(record: Record, task: Task) -> None:
    """Refuse to evaluate on another catalogue or with another prompt: its scores would not compare. Raises DataError."""
    for key, now in task.fingerprint.items():
        if key != "eval_split" and (then := record.task.get(key)) != now:
            raise DataError(
                f"run {record.folder}: its task's {key} was {then}, here it is {now} (its data has changed)"
            )


def _same_model(record: Record, engine: Engine) -> None:
    """Refuse to replay upon another model. Raises DataError."""
    for key in ("model_digest", "lora", "dim"):
        then, now = record.engine.get(key), engine.fingerprint.get(key)
        if then != now:
            raise DataError(f"run {record.folder}: its {key} was {then}, here it is {now} (its model has changed)")


def _same_digest(record: Record, version: int, digest: str) -> None:
    if digest != record.digests[version]:
        raise DigestMismatch(
            f"version {version} rebuilt from the journal has digest {digest}, the run had {record.digests[version]}"
            " (another device type or torch version draws other noise; use the snapshot in adapters/ there)"
        )
