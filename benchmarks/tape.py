"""A tape of every request that engines served, and its replay: the same work with nothing else to do.

The replay keeps the order in which members were seated, as many seats as there were, all episodes of a member at once,
and each turn of an episode after the one before. No task, policy, journal or text is in it: token ids go in and out.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from aes.together import together
from aes.types import Advanced, Completion, Member, Sampling, Update
from benchmarks.engines import TunedEngine

Asked = tuple[tuple[int, ...], Sampling]
"""One request: token ids and how to go on from them."""


@dataclass
class Sitting:
    """A member's time in an engine, the so-manieth of all: its episodes, each with its requests in order."""

    number: int
    member: Member
    episodes: dict[asyncio.Task[Any], list[Asked]] = field(default_factory=dict)


class TapingEngine(TunedEngine):
    """Keeps what it is asked, and every version, so that it can be asked the same again.

    Attributes:
        sittings: the members that sat here, in order; set it empty to begin anew.
    """

    _fresh = count(1)
    _order = count()

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.sittings = list[Sitting]()

    @asynccontextmanager
    async def seat(self, member: Member) -> AsyncIterator[Any]:
        """A seat whose requests are kept, with the task that asks: one episode is one task."""
        sitting = Sitting(next(self._order), member)
        self.sittings.append(sitting)
        async with super().seat(member) as seat:
            yield TapingSeat(seat, sitting)

    async def advance(self, update: Update, keep: Collection[int], lags: Collection[int], run: str = "") -> Advanced:
        """Forget no version."""
        return await super().advance(update, range(update.version + 1), lags, run)

    async def forget_prompts(self) -> None:
        """Empty the prefix cache."""
        await self._open()._llm.reset_prefix_cache()

    def again(self, member: Member) -> Any:
        """A request of a member under a name that was never used: its adapter is built, its prompts are read anew."""
        from vllm.lora.request import LoRARequest

        return LoRARequest(f"again {next(self._fresh)}", next(self._adapter_ids), member.name)

    async def ask(self, asked: Asked, request: Any) -> int:
        """Make one request; tokens of the reply."""
        prompt, sampling = asked
        return len((await self._open().generate(prompt, self._params(sampling), request)).token_ids)


class TapingSeat:
    """One member's seat, and its place on the tape."""

    def __init__(self, seat: Any, sitting: Sitting) -> None:
        self._seat = seat
        self._sitting = sitting

    async def generate(self, prompt: Sequence[int], sampling: Sampling) -> Completion:
        """Keep the request and pass it on."""
        episode = asyncio.current_task()
        assert episode is not None
        self._sitting.episodes.setdefault(episode, []).append((tuple(prompt), sampling))
        completion: Completion = await self._seat.generate(prompt, sampling)
        return completion


async def replay(engines: Sequence[TapingEngine], sittings: Sequence[Sitting]) -> int:
    """Serve what was taped, on all engines at once; a seat takes the next member as soon as it is free. Tokens."""
    waiting = deque(sittings)
    seats = [_seat(engine, waiting) for engine in engines for _ in range(engine.slots)]
    return sum(await together(seats))


async def _seat(engine: TapingEngine, waiting: deque[Sitting]) -> int:
    tokens = 0
    while waiting:
        sitting = waiting.popleft()
        request = engine.again(sitting.member)
        tokens += sum(await together(_episode(engine, asked, request) for asked in sitting.episodes.values()))
    return tokens


async def _episode(engine: TapingEngine, requests: Sequence[Asked], lora: Any) -> int:
    return sum([await engine.ask(asked, lora) for asked in requests])
