"""A Wordle-like game: the agent learns to guess words that fit everything it has been told.

The environment speaks Gymnasium's words (`reset`, `step`); `ChatTask` makes the conversation. On the fake engine:

    python examples/wordle.py
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Any

from aes import ChatTask, Config, Run
from aes.engine.fake import FakeEngine

WORDS = ["crane", "slate", "moist", "bunch", "fjord", "glyph", "waltz", "brick"]
WORDS += ["jumpy", "vexed", "quilt", "sword", "plant", "chief", "dough", "early"]
TURNS = 6


def marks(guess: str, secret: str) -> str:
    """G: this letter is here; y: it is elsewhere; a dot: it is nowhere."""
    return "".join("G" if g == s else "y" if g in secret else "." for g, s in zip(guess, secret, strict=True))


class Wordle:
    def __init__(self, goal: int) -> None:
        self._draw = random.Random(goal)
        self._secret = self._draw.choice(WORDS)
        self._told: list[tuple[str, str]] = []

    def reset(self, *, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        return "Find the secret word: take one that fits all marks so far\n" + self._choice("no marks yet"), {}

    def step(self, text: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        guess = text.strip().removeprefix("guess[").removesuffix("]")
        if guess not in WORDS:
            return self._choice("that is no word of this game"), 0.0, False, False, {}
        self._told.append((guess, marks(guess, self._secret)))
        solved, turn = guess == self._secret, len(self._told)
        said = " ".join(f"{word} {mark}" for word, mark in self._told)
        return self._choice(said), solved * (TURNS + 1 - turn) / TURNS, solved, turn == TURNS, {"success": solved}

    def _choice(self, said: str) -> str:
        """What was said, and some words to choose from."""
        shown = self._draw.sample(WORDS, 5)
        fitting = [word for word in WORDS if self._fits(word)]
        lines = [f"- {word} | fits all marks so far" for word in self._draw.sample(fitting, 1)]
        lines += [f"- {word} | {'fits all marks so far' if self._fits(word) else 'ruled out'}" for word in shown]
        return "\n".join([f"({said})", *self._draw.sample(lines, len(lines)), "Reply with guess[<word>]"])

    def _fits(self, word: str) -> bool:
        return all(marks(guess, word) == mark for guess, mark in self._told)


def task(train: Sequence[int] = range(300), held_out: Sequence[int] = range(300, 350)) -> ChatTask:
    return ChatTask("wordle", Wordle, train, held_out, max_turns=TURNS)


async def main() -> None:
    config = Config(updates=8, pairs=8, goals=8, sigma=1.0, lr=1.0, eval_every=4, eval_goals=50, max_tokens=64)
    async with FakeEngine() as engine, Run(task(), engine, config) as run:
        await run.wait()
    for evaluation in run.summary()["evaluations"]:
        print(f"version {evaluation['version']}: score {evaluation['score']:.2f}, solved {evaluation['success']:.0%}")


if __name__ == "__main__":
    asyncio.run(main())
