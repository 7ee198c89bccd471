"""vLLM engines that are started otherwise than usual, for what only a benchmark needs."""

from __future__ import annotations

from typing import Any

from aes.engine.server import Server
from aes.engine.vllm import VllmEngine, arguments


class TunedEngine(VllmEngine):
    """An engine whose subclasses may change what vLLM is started with."""

    def _arguments(self) -> dict[str, Any]:
        return arguments(self._model, self.space, self._options)

    async def _serve(self) -> Server:
        return await Server.start(self._options, self._arguments())
