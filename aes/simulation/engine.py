"""The simulated engine: a device in virtual time that serves members of an analytic objective.

A prompt is one number, the new tokens to be read, and the reply has as many tokens as are asked for. Asked QUESTION, a
member says at once who it is and what it is worth. All engines of one simulation share their centre, which is then
updated once and not by each.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self

import torch

from aes.centre import Centre
from aes.simulation.device import Device
from aes.simulation.objective import Objective
from aes.simulation.speed import Speed
from aes.types import Advanced, Completion, Member, Message, Sampling, Tool, Update

QUESTION = "?"
_ASKED = -1
_WORDS = "..."
"""What every other reply says: something that no prompt goes on from, so that each is read anew."""


class SharedCentre:
    """The centre of all engines of one simulation, from zeros; what the first of them applies is applied for all."""

    def __init__(self, objective: Objective) -> None:
        self._objective = objective
        self._last: tuple[Update, Advanced] | None = None
        self._centre = Centre(torch.zeros(objective.dim))

    def start(self) -> tuple[str, int]:
        """Be at version 0; its digest and size."""
        if self._last is not None:
            self._last, self._centre = None, Centre(torch.zeros(self._objective.dim))
        return self._centre.digest(), self._objective.dim

    def advance(self, update: Update, keep: Collection[int], lags: Collection[int]) -> Advanced:
        """Apply an update, if it is not applied yet."""
        if self._last is None or self._last[0] is not update:
            self._last = update, self._centre.advance(update, keep, lags)
        return self._last[1]

    def worth(self, member: Member | None = None) -> float:
        """The objective at a member's weights, or at the newest version."""
        held = self._centre.vector(self._centre.newest) if member is None else self._centre.member(member)
        return self._objective(held)


class Driver:
    """The one process that all replies pass through, one after the other.

    Attributes:
        busy: seconds it has worked so far.
    """

    def __init__(self, seconds: float) -> None:
        self.busy = 0.0
        self._seconds = seconds
        self._free = 0.0

    async def handle(self) -> None:
        """Wait until one more reply has been handled."""
        if self._seconds:
            now = asyncio.get_running_loop().time()
            self._free = max(now, self._free) + self._seconds
            self.busy += self._seconds
            await asyncio.sleep(self._free - now)


class NumberCodec:
    """Messages are numbers of tokens, or the question: one token id stands for all of it."""

    end_ids: frozenset[int] = frozenset()

    def render(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> str:
        """The numbers; tools are of no account."""
        return " ".join(message["content"] for message in messages)

    def encode(self, text: str) -> list[int]:
        """The numbers as ids."""
        return [_ASKED if word == QUESTION else int(word) for word in text.split()]

    def decode(self, token_ids: Sequence[int]) -> str:
        """The numbers as text."""
        return " ".join(map(str, token_ids))


class SimulatedEngine:
    """One device. It never fails; it is opened in the loop whose time it is to take.

    Attributes:
        seated_seconds: seconds that members have had a seat so far, all together.
    """

    context = 1 << 40
    wants_observation = False

    def __init__(
        self, centre: SharedCentre, speed: Speed, driver: Driver, *, slots: int, sequences: int, name: str = "simulated"
    ) -> None:
        self.codec = NumberCodec()
        self.slots = slots
        self.seated_seconds = 0.0
        self._centre = centre
        self._speed = speed
        self._driver = driver
        self._sequences = sequences
        self._name = name
        self._device: Device | None = None
        self._seated = 0

    @property
    def device(self) -> Device:
        """What is being simulated; there once the engine is open."""
        assert self._device is not None
        return self._device

    @property
    def fingerprint(self) -> Mapping[str, str]:
        """The engine's name."""
        return {"engine": "simulated", "device": "cpu"}

    @property
    def load(self) -> Sequence[tuple[str, int]]:
        """This device and the members seated on it."""
        return ((self._name, self._seated),)

    async def __aenter__(self) -> Self:
        """Begin with an idle device."""
        self._device = Device(self._speed, self._sequences)
        return self

    async def __aexit__(self, *exc: object) -> None:
        return None

    async def lost(self) -> str:
        """Wait for ever."""
        await asyncio.Event().wait()
        return ""

    @asynccontextmanager
    async def seat(self, member: Member) -> AsyncIterator[SimulatedSeat]:
        """Build a member; the device stands still meanwhile."""
        time = asyncio.get_running_loop().time
        since = time()
        self._seated += 1
        try:
            await self.device.stall(self._speed.build)
            card = f"s{member.seed}/{member.sign:+d} {self._centre.worth(member)!r}"
            yield SimulatedSeat(self.device, self._driver, card)
        finally:
            self._seated -= 1
            self.seated_seconds += time() - since

    async def observe(self, on: bool) -> None:
        """Nothing to record."""

    async def start(self, seed: int, sigma: float, basis: Path) -> tuple[str, int]:
        """Version 0: zeros."""
        return self._centre.start()

    async def advance(self, update: Update, keep: Collection[int], lags: Collection[int]) -> Advanced:
        """Apply an update; the device stands still meanwhile."""
        advanced = self._centre.advance(update, keep, lags)
        await self.device.stall(self._speed.update)
        return advanced

    async def export(self, version: int, folder: Path) -> None:
        """Write nothing: there is no adapter."""


class SimulatedSeat:
    """One member's place on a device."""

    def __init__(self, device: Device, driver: Driver, card: str) -> None:
        self._device = device
        self._driver = driver
        self._card = card

    async def generate(self, prompt: Sequence[int], sampling: Sampling) -> Completion:
        """Take as long as the device does for so many tokens, or say who is asked at once."""
        if prompt[-1] == _ASKED:
            return Completion(self._card, (1,), 0, "stop")
        await self._device.decode(prompt[-1], sampling.max_tokens)
        await self._driver.handle()
        return Completion(_WORDS, (sampling.max_tokens,), prompt[-1], "length")
