"""What must fit before a run begins: settings, task and engine with each other, and all of them with its past."""

from __future__ import annotations

from aes.config import Config
from aes.errors import ConfigError, DataError
from aes.past import Past
from aes.protocols import Engine, Task

SAME_ENGINE = ("model_digest", "lora", "dim", "device")


def check(task: Task, engine: Engine, config: Config) -> None:
    """Refuse settings that do not fit the task or the engine. Raises ConfigError."""
    if config.in_flight is not None and config.in_flight > engine.slots:
        raise ConfigError(
            f"in_flight {config.in_flight}: the engine has {engine.slots} slots (lower it, or raise slots)"
        )
    if not task.train_goals:
        raise ConfigError(f"task {task.name}: no training goals")
    if config.eval_goals > len(task.eval_goals):
        held = len(task.eval_goals)
        raise ConfigError(f"eval_goals {config.eval_goals}: task {task.name} holds out {held} goals (lower eval_goals)")


def same(past: Past, task: Task | None, engine: Engine) -> None:
    """Refuse to go on with another task (None: any), model or adapter space than the run's. Raises DataError."""
    pairs = [(f"engine's {key}", past.about["engine"].get(key), engine.fingerprint.get(key)) for key in SAME_ENGINE]
    if task is not None:
        now = {"name": task.name, **task.fingerprint}
        pairs += [(f"task's {key}", past.about["task"].get(key), now.get(key)) for key in {*past.about["task"], *now}]
    for what, then, here in sorted(pairs, key=str):
        if then != here:
            raise DataError(f"run {past.folder}: its {what} was {then}, here it is {here} (restore it, or begin anew)")
    if task is not None and any(max(p.goals) >= len(task.train_goals) for p in past.open.values()):
        raise DataError(f"run {past.folder}: its members play goals that task {task.name} has not (restore the task)")
