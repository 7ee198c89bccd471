"""An engine serves one run at a time, for it holds one centre: a second run is refused before it spoils the first."""

from __future__ import annotations

from collections.abc import Sequence

from aes.errors import ConfigError
from aes.protocols import Engine

_TAKEN: dict[int, Engine] = {}  # by identity, for an engine need not be hashable


class Claim:
    """What one run holds of its engines while it is entered."""

    def __init__(self, engines: Sequence[Engine]) -> None:
        self._engines = engines
        self._held: Sequence[Engine] = ()

    def take(self) -> None:
        """Take all of them. Raises ConfigError, taking none, where another run has one."""
        if any(id(engine) in _TAKEN for engine in self._engines):
            raise ConfigError("engine: another run is using it (aes.engine.shared.Shared gives each run a part of it)")
        self._held = self._engines
        _TAKEN.update((id(engine), engine) for engine in self._held)

    def release(self) -> None:
        """Give back what was taken."""
        for engine in self._held:
            _TAKEN.pop(id(engine), None)
        self._held = ()
