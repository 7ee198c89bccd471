"""`aes eval`: any version of a run, rebuilt from its journal, on any split."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from aes.errors import ConfigError
from aes.evaluation import evaluate
from aes.events import Evaluated
from aes.protocols import Engine, Task
from aes.referee import Referee
from aes.replay import BASIS, rebuild
from cli import collector, signals
from cli.recorded import Recorded
from cli.session import View, view_of
from cli.view.results import one
from cli.view.terminal import quiet
from envs.webshop.catalog.splits import Split


def evaluate_run(folder: Path, version: int | None, split: Split, goals: int | None, devices: str | None) -> None:
    """Evaluate one version of a run (None: its last) and print the result. Raises AesError, Interrupted."""
    recorded = Recorded.read(folder, devices)
    chosen = recorded.version(version)
    with quiet() as terminal:
        terminal.chatter_to(folder / "engine.log")
        view = view_of(terminal.console)
        task, engine = recorded.open(view, split)
        usual = recorded.settings.eval_goals or len(task.eval_goals)
        played = _goals(task.eval_goals, goals, usual, split)
        evaluation = signals.run(
            lambda _: _replay(recorded, chosen, task, engine, played, view), terminal.console.print
        )
        comparable = split == recorded.settings.eval_split and chosen > 0
        terminal.console.print(one(evaluation, recorded.base if comparable else None))


async def _replay(
    recorded: Recorded, version: int, task: Task, engine: Engine, goals: Sequence[Any], view: View
) -> Evaluated:
    """Rebuild a version in the engine and have it play. Raises DigestMismatch where the rebuilt one is another."""
    past, config = recorded.past, recorded.settings.config
    async with AsyncExitStack() as stack:
        with view.working("starting the engine"):
            await stack.enter_async_context(engine)
        with view.working(f"replaying {version} updates"):
            await rebuild(engine, past, version, config.sigma, past.folder / BASIS)
        with view.working(f"playing {len(goals)} goals with version {version}"):
            referee = await stack.enter_async_context(Referee(task, engine, config))
            stack.enter_context(collector.sparing())
            return await evaluate(referee, version, goals)


def _goals(goals: Sequence[Any], wanted: int | None, usual: int, split: Split) -> Sequence[Any]:
    if wanted is not None and not 1 <= wanted <= len(goals):
        raise ConfigError(f"--goals {wanted}: the {split} split holds {len(goals)} (take 1 to {len(goals)})")
    return goals[: wanted or usual]
