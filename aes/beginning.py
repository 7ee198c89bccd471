"""The beginning of a run: its folder and journal, and the versions that its engine holds then."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

from aes.config import Settings
from aes.errors import ConfigError, RunFailed
from aes.events import Event, Inherited, Resumed, Started, Updated
from aes.failures import summary
from aes.journal import Journal, to_json, writing
from aes.past import Past
from aes.protocols import Engine
from aes.referee import Referee
from aes.replay import BASIS, digest_of, rebuild
from aes.together import together
from aes.types import Member

CALIBRATION_GOALS = 64

Persist = Callable[[Callable[[], Awaitable[None]]], Awaitable[None]]


@dataclass(frozen=True)
class Beginning:
    """How one run begins: afresh, with its own past, or with that of the run it is forked from.

    `about` is kept in the journal for whoever resumes the run; `memory` is what a run without a journal has.
    """

    referee: Referee
    folder: Path | None
    about: Settings | None
    past: Past | None
    memory: Past = field(default_factory=lambda: Past(Path(), {}))

    @property
    def resuming(self) -> bool:
        """Whether the past is the run's own."""
        return self.past is not None and self.past.folder == self.folder

    def open_journal(self) -> Journal | None:
        """Take the folder for this run alone. Raises ConfigError, DataError."""
        if self.folder is None:
            return None
        folder, clock = self.folder, asyncio.get_running_loop().time
        task, engine = self.referee.task, self.referee.engine
        about = {
            "config": self.referee.config.model_dump(mode="json"),
            "about": self.about.model_dump(mode="json") if self.about else None,
            "task": {"name": task.name, **task.fingerprint},
            "engine": dict(engine.fingerprint),
        }
        try:
            if self.resuming:
                return Journal.reopen(folder, clock)
            folder.mkdir(parents=True, exist_ok=True)
            journal = Journal.create(folder, clock, about)
            (folder / "run.json").write_text(to_json(about, indent=2) + "\n")  # for people; nobody reads it back
        except FileExistsError:
            held = "holds a run already" if folder.is_dir() else "is a file"
            raise ConfigError(f"run folder {folder} {held} (choose another --run-dir, or resume it)") from None
        except OSError as error:
            raise ConfigError(f"run folder {folder}: {error.strerror} (choose another --run-dir)") from None
        return journal

    async def prepare(self, persist: Persist, emit: Callable[[Event], None], due: Collection[int]) -> None:
        """Have the engine hold version 0, or what the past has come to and the versions in `due` below it.

        `persist` tries what it is given again where an engine is lost in it.
        """
        past = self.past
        if past is None or past.started is None:
            await persist(lambda: self._start(emit))
            return
        if not self.resuming:
            self._inherit(past, emit)
        engine, config = self.referee.engine, self.referee.config
        open_versions = {proposal.version for proposal in past.open.values()}
        recent = range(max(0, past.version - config.max_lag), past.version)
        keep = {*recent, *due, *open_versions}
        await persist(lambda: rebuild(engine, past, past.version, config.sigma, self._basis, keep))
        if self.resuming:
            emit(Resumed(past.version))

    def remember(self, event: Event) -> None:
        """Keep what `rebuild` needs of a run without a journal; a listener for the bus."""
        if isinstance(event, Started | Updated):
            self.memory.apply(event)

    async def rebuild(self, engine: Engine, version: int, keep: Collection[int]) -> None:
        """Have an engine that was just opened hold a version that the run has made, and those in `keep` below it.

        Raises DigestMismatch where what is made is not what the run had.
        """
        past = self.memory if self.folder is None else await Past.recall(self.folder)
        await rebuild(engine, past, version, self.referee.config.sigma, self._basis, keep)

    async def _start(self, emit: Callable[[Event], None]) -> None:
        """Make version 0, from what the base model sees where the adapters need that."""
        engine, config = self.referee.engine, self.referee.config
        if engine.wants_observation:
            if self.folder is None:
                raise ConfigError(
                    "basis 'activations' is kept in the run folder (give the run a folder, or basis='random')"
                )
            self._basis.unlink(missing_ok=True)  # of a start that was cut short
            await engine.observe(True)
            await self._calibrate()
            await engine.observe(False)
        digest, dim = await engine.start(config.seed, config.sigma, self._basis)
        basis = await asyncio.to_thread(self._basis_digest) if engine.wants_observation else ""
        emit(Started(digest, dim, config.seed, basis))

    def _basis_digest(self) -> str:
        return digest_of(self._basis) if self._basis.is_file() else ""

    async def _calibrate(self) -> None:
        """Have the base model play the first training goals. Raises RunFailed when it can play none."""
        goals = self.referee.task.train_goals[:CALIBRATION_GOALS]
        async with self.referee.engine.seat(Member(0)) as seat:
            episodes = await together(self.referee.play(seat, goal, seed) for seed, goal in enumerate(goals))
        failures = [episode.failure for episode in episodes]
        if all(failures):
            raise RunFailed(f"all {len(failures)} calibration episodes failed: {summary(filter(None, failures))}")

    def _inherit(self, parent: Past, emit: Callable[[Event], None]) -> None:
        """Tell the journal how the first version of a fork was made."""
        if (parent.folder / BASIS).is_file():
            with writing(self._basis) as basis:
                shutil.copyfile(parent.folder / BASIS, basis)
        for applied in parent.updates:
            emit(Inherited(*applied))
        assert parent.started is not None
        emit(parent.started)

    @property
    def _basis(self) -> Path:
        return (self.folder or Path()) / BASIS
