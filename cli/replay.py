"""`aes replay` and `aes export`: versions of a run from its journal alone, with no engine."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from aes.errors import ConfigError, DataError
from aes.replay import BASIS, rebuild, remake
from cli import assemble
from cli.recorded import Recorded
from cli.session import view_of
from cli.view.terminal import quiet

if TYPE_CHECKING:
    from aes.engine.model import BaseModel
    from aes.lora import LoraSpace


def replay(folder: Path, version: int | None) -> None:
    """Make all versions up to one (None: the last) again, and say that their digests are the run's. Raises AesError."""
    recorded = Recorded.read(folder)
    last = recorded.version(version)
    with quiet() as terminal:
        with view_of(terminal.console).working(f"replaying {last} updates"):
            if recorded.settings.engine == "fake":
                asyncio.run(_rebuild(recorded, last))
            else:
                remake(recorded.past, _space(recorded)[1], last)
        digest = recorded.past.digest(last)
        terminal.console.print(
            f"versions 0 to {last} made again from seeds and coefficients: every digest is the run's"
            f" (version {last}: {digest})",
            highlight=False,
            soft_wrap=True,
        )


def export(folder: Path, version: int | None, to: Path) -> None:
    """Write a version as a PEFT adapter. Raises DataError, ConfigError, DigestMismatch."""
    from aes import snapshot

    recorded = Recorded.read(folder)
    chosen = recorded.version(version)
    if recorded.settings.engine == "fake":
        raise DataError(f"run {folder}: the fake engine's policy is no LoRA adapter (nothing to export)")
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise ConfigError(f"--to {to}: is not an empty folder (choose a new one)")
    with quiet() as terminal:
        with view_of(terminal.console).working(f"replaying {chosen} updates"):
            model, space = _space(recorded)
            theta, basis = remake(recorded.past, space, chosen)
        try:
            snapshot.write(to, space, theta, basis, model.name)
        except OSError as error:
            raise ConfigError(f"--to {to}: cannot be written to ({error.strerror})") from None
        terminal.console.print(f"version {chosen} is in {to}", highlight=False, soft_wrap=True)


async def _rebuild(recorded: Recorded, version: int) -> None:
    engine = assemble.open_engine(recorded.settings, None)
    async with engine:
        await rebuild(engine, recorded.past, version, recorded.settings.sigma, recorded.past.folder / BASIS)


def _space(recorded: Recorded) -> tuple[BaseModel, LoraSpace]:
    """The model and its adapter space. Raises DataError where the model is no longer the run's."""
    from aes.engine.model import BaseModel
    from aes.engine.vllm import space_of

    name = recorded.past.about["engine"]["model"]
    model = BaseModel.inspect(name)
    if model.digest != recorded.past.about["engine"]["model_digest"]:
        raise DataError(f"model {name}: it is no longer the one that the run {recorded.past.folder} adapted")
    return model, space_of(model, recorded.settings.lora)
