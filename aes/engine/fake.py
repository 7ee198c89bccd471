"""A fake engine: a tiny deterministic policy that really learns, in milliseconds. Public, for your tests too.

The policy is linear. It reads the replies it may give from the prompt, scores each by theta . features(reply,
conversation), and gives the best one, the first among equals. Replies are every `verb[argument]` of the last message;
an open argument `<words>` is filled with the goal (the first line of the first user message), any other `<...>` with
each entry the message lists (`- entry | more` or `name: entry, entry`); where there are none, a fixed list serves.
Where a `Choice` is asked for, its options are the replies. Features are signed hashes of what a small agent could go
by: the verb at this turn, whether the reply was given before, how much of it, or of the line it stands in, is in the
goal, and the words of the last message.
"""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save_file

from aes.centre import Centre
from aes.engine.life import Life
from aes.errors import EngineError, GenerationFailed
from aes.structured import Choice
from aes.types import Advanced, Completion, Member, Message, Sampling, Tool, Update

Latency = Callable[[Member, int], float]

_ACTION = re.compile(r"\w+\[[^\]\n]*\]")
_WORD = re.compile(r"\w+")


class TextCodec:
    """Messages as UTF-8 bytes, one token a byte; control characters mark roles."""

    end_ids = frozenset({0})

    def render(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> str:
        """One record per message, then the mark of the reply to come. Raises GenerationFailed where there are tools."""
        if tools:
            raise GenerationFailed("tools: the fake engine knows none (offer `verb[argument]` in the text instead)")
        return "".join(f"\x1e{m['role']}\x1f{m['content']}" for m in messages) + "\x1eassistant\x1f"

    def encode(self, text: str) -> list[int]:
        """Bytes."""
        return list(text.encode())

    def decode(self, token_ids: Sequence[int]) -> str:
        """Text of bytes, without the end mark."""
        return bytes(t for t in token_ids if t).decode(errors="replace")


class FakeEngine:
    """Serves members of a linear policy in this process. It can die and hang like one that has a process of its own.

    Args:
        replies: what the policy may say where the prompt offers no `verb[argument]`.
        dim: length of theta.
        slots: training members at once.
        latency: seconds one reply takes, by member and prompt length; None yields to the loop once.
    """

    context = 1 << 20
    wants_observation = False

    def __init__(
        self, replies: Sequence[str] = ("yes", "no"), dim: int = 256, slots: int = 16, latency: Latency | None = None
    ) -> None:
        self.codec = TextCodec()
        self.slots = slots
        self._replies = tuple(replies)
        self._dim = dim
        self._latency = latency
        self._centres = {"": Centre(torch.zeros(dim))}
        self._life = Life("fake")
        self._answering = asyncio.Event()
        self._answering.set()
        self._seated = 0

    @property
    def fingerprint(self) -> Mapping[str, str]:
        """The engine's name and size."""
        return {"engine": "fake", "dim": str(self._dim), "device": "cpu"}

    @property
    def load(self) -> Sequence[tuple[str, int]]:
        """One device, and the members seated on it."""
        return (("fake", self._seated),)

    async def __aenter__(self) -> Self:
        """Begin anew after a death: nothing is known of any version."""
        if self._life.over:
            self._life = Life("fake")
            self._centres = {"": Centre(torch.zeros(self._dim))}
            self._answering.set()
        return self

    async def __aexit__(self, *exc: object) -> None:
        return None

    def kill(self, reason: str = "its process was killed") -> None:
        """Die: whoever waits for an answer, or asks for anything later, is told EngineLost until it is opened again."""
        self._life.end(reason)

    def hang(self, noticed_after: float) -> None:
        """Answer nothing any more; it counts as dead after so many seconds."""
        self._answering.clear()
        life = self._life
        asyncio.get_running_loop().call_later(noticed_after, life.end, f"no answer for {noticed_after:g} s")

    async def lost(self) -> str:
        """Wait until it dies; why."""
        return await self._life.ended()

    @asynccontextmanager
    async def seat(self, member: Member) -> AsyncIterator[FakeSeat]:
        """Build the member's weights and keep them until the context is left."""
        self._life.check()
        self._seated += 1
        try:
            weights = self._centre(member.run).member(member).numpy().astype(np.float64)
            yield FakeSeat(member, weights, self._replies, self._latency, partial(self.working, self._life))
        finally:
            self._seated -= 1

    async def observe(self, on: bool) -> None:
        """Nothing to record."""
        async with self.working():
            pass

    async def start(self, seed: int, sigma: float, basis: Path, run: str = "") -> tuple[str, int]:
        """Version 0: all zeros, so every reply ties and the first is given."""
        async with self.working():
            self._centres[run] = Centre(torch.zeros(self._dim))
            return self._centres[run].digest(), self._dim

    async def advance(self, update: Update, keep: Collection[int], lags: Collection[int], run: str = "") -> Advanced:
        """Apply an update."""
        async with self.working():
            return self._centre(run).advance(update, keep, lags)

    async def export(self, version: int, folder: Path, run: str = "") -> None:
        """Write theta as safetensors (a linear policy has no PEFT form)."""
        async with self.working():
            theta = self._centre(run).vector(version)
            await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
            await asyncio.to_thread(save_file, {"theta": theta}, folder / "theta.safetensors")

    async def forget(self, run: str) -> None:
        """Drop a run's centre."""
        async with self.working():
            self._centres.pop(run, None)

    def _centre(self, run: str) -> Centre:
        if run not in self._centres:
            raise EngineError(f"engine fake: it holds no centre of run {run!r} (start it)")
        return self._centres[run]

    @asynccontextmanager
    async def working(self, life: Life | None = None) -> AsyncIterator[None]:
        """What a living engine does is done inside: not at all while it hangs, and given up with EngineLost if it dies.

        A subclass that takes its time should do so in here. `life` is the one that is needed, the present one if none.
        """
        async with (life or self._life).living():
            await self._answering.wait()
            yield
            await self._answering.wait()


class FakeSeat:
    """One member of the linear policy."""

    def __init__(
        self,
        member: Member,
        weights: NDArray[np.float64],
        replies: Sequence[str],
        latency: Latency | None,
        working: Callable[[], AbstractAsyncContextManager[None]],
    ) -> None:
        self._member = member
        self._weights = weights
        self._replies = replies
        self._latency = latency
        self._working = working

    async def generate(self, prompt: Sequence[int], sampling: Sampling) -> Completion:
        """Give the reply of the highest score, the first among equals."""
        async with self._working():
            await asyncio.sleep(self._latency(self._member, len(prompt)) if self._latency else 0)
        messages = [tuple(turn.split("\x1f", 1)) for turn in TextCodec().decode(prompt).split("\x1e")[1:-1]]
        turns = [content for role, content in messages if role != "system"]
        offered = self._offered(turns, sampling)
        text = _cut(max(offered, key=lambda reply: self._score(reply, offered[reply], turns)), sampling.stop)
        ids = (*text.encode(), 0)[: sampling.max_tokens]
        return Completion(TextCodec().decode(ids), ids, len(prompt), "stop" if ids[-1] == 0 else "length")

    def _offered(self, turns: Sequence[str], sampling: Sampling) -> dict[str, str]:
        match sampling.structured:
            case Choice(options):
                return {option: option for option in options}
            case None:
                return _offers(turns) or {reply: reply for reply in self._replies}
            case form:
                raise GenerationFailed(f"structured: the fake engine writes no {type(form).__name__} (take a Choice)")

    def _score(self, reply: str, about: str, turns: Sequence[str]) -> float:
        score = 0.0
        for feature, value in _features(reply, about, turns):
            where, sign = _hash(feature, self._weights.size)
            score += sign * value * self._weights[where]
        return score


def _cut(reply: str, stop: Sequence[str]) -> str:
    """A reply up to and with the first stop text in it."""
    return reply[: min((at + len(word) for word in stop if (at := reply.find(word)) >= 0), default=len(reply))]


def _offers(turns: Sequence[str]) -> dict[str, str]:
    """The distinct actions of the last message, each with the words that tell about it."""
    offers: dict[str, str] = {}
    for action in _ACTION.findall(turns[-1]):
        verb, _, argument = action.removesuffix("]").partition("[")
        if argument == "<words>":
            offers.setdefault(f"{verb}[{' '.join(_WORD.findall(_goal(turns)))}]", "")
        elif argument.startswith("<") and argument.endswith(">"):
            for entry, line in _entries(turns[-1]):
                offers.setdefault(f"{verb}[{entry}]", line)
        else:
            offers.setdefault(action, argument)
    return offers


def _entries(message: str) -> Iterator[tuple[str, str]]:
    """What a message lists, entry by entry, each with the words that tell about it."""
    for line in message.splitlines():
        if line.startswith("- "):
            yield line[2:].partition(" | ")[0], line
        elif ": " in line and not _ACTION.search(line):
            for value in line.partition(": ")[2].split(", "):
                yield value, value


def _goal(turns: Sequence[str]) -> str:
    return turns[0].strip().partition("\n")[0]


def _features(reply: str, about: str, turns: Sequence[str]) -> list[tuple[str, float]]:
    verb = reply.partition("[")[0]
    words = _WORD.findall(about.lower())
    goal = set(_WORD.findall(_goal(turns).lower()))
    overlap = sum(word in goal for word in words) / max(len(words), 1)
    said = float(any(reply == turn for turn in turns[1::2]))
    features = [(f"verb {verb}", 1.0), (f"turn {len(turns) // 2} {verb}", 1.0), ("said", said)]
    features += [(f"overlap {verb}", overlap), (f"reply {reply}", 0.3)]
    return features + [(f"{reply} after {word}", 0.3) for word in _WORD.findall(turns[-1])[:8]]


@lru_cache(maxsize=65536)
def _hash(feature: str, dim: int) -> tuple[int, float]:
    code = zlib.crc32(feature.encode())
    return code % dim, 1.0 if code & 0x80000000 else -1.0
