"""Tasks of the user's own: `--task package.module:factory` names a function without arguments that returns one."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aes import place
from aes.config import nearest
from aes.errors import ConfigError
from aes.protocols import Policy, Task
from aes.types import Episode
from cli.settings import TrainSettings

WEBSHOP = "webshop"
WEBSHOP_ONLY = ("data", "products", "catalog_seed", "goal_kind", "eval_split", "prompt", "nouns")
"""Settings that say nothing about any other task."""

_FACTORY = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_PARTS = ("name", "train_goals", "eval_goals", "fingerprint", "play")
_CURE = "let it return an aes.AgentTask, an aes.ChatTask, or a class of your own with all five"


@dataclass(frozen=True)
class OnGoals:
    """A task whose held-out goals are others, under another name of their split."""

    task: Task
    eval_goals: Sequence[Any]
    split: str

    @property
    def name(self) -> str:
        """The task's."""
        return self.task.name

    @property
    def train_goals(self) -> Sequence[Any]:
        """The task's."""
        return self.task.train_goals

    @property
    def fingerprint(self) -> Mapping[str, str]:
        """The task's, and the split."""
        return {**self.task.fingerprint, "eval_split": self.split}

    async def play(self, policy: Policy, goal: Any, seed: int) -> Episode:
        """As the task does."""
        return await self.task.play(policy, goal, seed)


def is_own(name: str) -> bool:
    """Whether a task is the user's own."""
    return _FACTORY.fullmatch(name) is not None


def checks(settings: TrainSettings) -> Iterator[str]:
    """Everything that speaks against a task of the user's own under these settings."""
    if not is_own(settings.task):
        return
    fields = TrainSettings.model_fields
    for name in WEBSHOP_ONLY:
        if (value := getattr(settings, name)) != fields[name].default:
            yield f"--{name.replace('_', '-')} {value} with --task {settings.task}: only webshop has it (leave it out)"
    if settings.kind == "pocket policy":
        yield f"--task {settings.task}: the pocket policy knows only webshop (name a --model, or take --engine fake)"


def load(name: str) -> Task:
    """Import a task's module, the current folder's own first, and have its factory make the task.

    Raises ConfigError: what is wrong with it, in one line.
    """
    module_name, _, attribute = name.partition(":")
    if module_name.partition(".")[0] in sys.stdlib_module_names:  # a stranger's run folder may name it
        raise ConfigError(f"--task {name}: a module of Python itself (name one of yours)")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    module = _imported(name, module_name)
    factory = getattr(module, attribute, None)
    if factory is None:
        raise ConfigError(f"--task {name}: {module_name} has no {attribute!r}{nearest(attribute, vars(module))}")
    if not callable(factory):
        kind = type(factory).__name__
        raise ConfigError(f"--task {name}: it is no function but a {kind} (name a function that returns the task)")
    try:
        task = factory()
    except (Exception, SystemExit) as error:
        raise ConfigError(f"--task {name}: it raised {_words(error)}") from error
    if inspect.iscoroutine(task):
        task.close()
    if wrong := _wrong(task):
        raise ConfigError(f"--task {name}: it returned {wrong}; {_CURE}")
    made: Task = task
    return made


def _imported(name: str, module: str) -> Any:
    try:
        return importlib.import_module(module)
    except (Exception, SystemExit) as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing is not None and (module == missing or module.startswith(f"{missing}.")):
            raise ConfigError(
                f"--task {name}: no module {missing!r} (run aes in the folder that holds it, or install it)"
            ) from None
        raise ConfigError(f"--task {name}: importing {module} raised {_words(error)}") from error


def _wrong(task: object) -> str:
    """What keeps a thing from being a task; nothing where it is one."""
    kind = type(task).__name__
    try:
        if missing := [part for part in _PARTS if not hasattr(task, part)]:
            return f"a {kind} without {', '.join(missing)}"
        told: Any = task
        if not isinstance(told.name, str) or not callable(told.play):
            return f"a {kind} whose name is no text, or whose play can't be called"
        if not all(isinstance(pair, str) for item in dict(told.fingerprint).items() for pair in item):
            return f"a {kind} whose fingerprint holds other things than texts"
        len(told.train_goals), len(told.eval_goals)
    except Exception as error:
        return f"a {kind} that can't be read: {_words(error)}"
    return ""


def _words(error: BaseException) -> str:
    where = place.raised(error)
    ours = "/".join(Path(__file__).parts[-2:])
    return f"{type(error).__name__}: {error}" + (f" (at {where})" if where and not where.startswith(ours) else "")
