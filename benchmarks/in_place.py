"""The usual way to evaluate perturbed policies: one at a time, the engine's own weights changed in place.

Nothing of aes is in the engine: no adapters, no centre. A member is the base model with sigma * eps(seed) added to all
its parameters, and is gone when the same is taken away again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aes.engine.llm import LiveLLM
from aes.types import Completion, Sampling
from benchmarks.engines import TunedEngine


class InPlaceEngine(TunedEngine):
    """The base model without adapters.

    Attributes:
        perturbing: seconds that it has spent on changing weights.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.perturbing = 0.0

    async def add(self, seeds: Sequence[int], coefficients: Sequence[float]) -> None:
        """Change the weights; what was read with the old ones is forgotten."""
        server = self._open()
        self.perturbing += await server.call("bench_add", list(seeds), list(coefficients))
        await server._llm.reset_prefix_cache()

    async def check(self) -> None:
        """Raise AssertionError unless all parameters are perturbed. vLLM has some more: it fills up the vocabulary."""
        perturbed = await self._open().call("bench_parameters")
        assert perturbed >= self._model.parameters, f"{perturbed} of {self._model.parameters} parameters are perturbed"

    @asynccontextmanager
    async def perturbed(self, seed: int, change: float) -> AsyncIterator[None]:
        """Inside, the weights are the base's plus change * eps(seed)."""
        await self.add([seed], [change])
        yield
        await self.add([seed], [-change])

    def lockstep(self, players: int) -> Lockstep:
        """A seat for so many episodes, which are batched turn by turn."""
        return Lockstep(self, self._open(), players)

    def _arguments(self) -> dict[str, Any]:
        own = {"worker_extension_cls": "benchmarks.in_place_worker.InPlaceWorker", "enable_lora": False}
        return {name: value for name, value in super()._arguments().items() if "lora" not in name} | own


@dataclass
class Lockstep:
    """A seat that sends off the requests of a turn together, once every episode has come to it or has ended."""

    engine: InPlaceEngine
    server: LiveLLM
    players: int
    _waiting: list[tuple[Sequence[int], Sampling, asyncio.Future[Completion]]] = field(default_factory=list)
    _turns: set[asyncio.Task[None]] = field(default_factory=set)

    async def generate(self, prompt: Sequence[int], sampling: Sampling) -> Completion:
        """Answer when all of this turn are answered."""
        answer: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        self._waiting.append((prompt, sampling, answer))
        self._send()
        return await answer

    def ended(self) -> None:
        """An episode is over; the others need not wait for it."""
        self.players -= 1
        self._send()

    def _send(self) -> None:
        if self._waiting and len(self._waiting) == self.players:
            asked, self._waiting = self._waiting, []
            turn = asyncio.create_task(self._turn(asked))
            self._turns.add(turn)
            turn.add_done_callback(self._turns.discard)

    async def _turn(self, asked: Sequence[tuple[Sequence[int], Sampling, asyncio.Future[Completion]]]) -> None:
        complete = self.engine.complete
        try:
            found = await asyncio.gather(*(complete(self.server, prompt, how, None) for prompt, how, _ in asked))
        except Exception as error:
            for _, _, answer in asked:
                answer.set_exception(error)
            return
        for (_, _, answer), completion in zip(asked, found, strict=True):
            answer.set_result(completion)
