"""Failures: every error has a kind and one short line; a play's result is taken only if it is one."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aes import Config, Episode
from aes.errors import ContextOverflow, GenerationFailed, RunFailed
from aes.failures import LONGEST, FailureGuard, checked, failed, failure, failure_of, summary
from aes.types import Failure

HERE = r"\(at aes/test_failures.py:\d+\)"


def raised(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as caught:
        return caught


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even this")


@pytest.mark.parametrize(
    ("error", "kind", "reason"),
    [
        (KeyError("x"), "environment", "KeyError: 'x'"),
        (ContextOverflow("too long"), "context", "ContextOverflow: too long"),
        (GenerationFailed("refused"), "generation", "GenerationFailed: refused"),
        (TimeoutError(), "environment", "TimeoutError"),
        (asyncio.CancelledError("not ours"), "environment", "CancelledError: not ours"),
        (ExceptionGroup("two", [ValueError("a"), KeyError("b")]), "environment", "ValueError: a (and 1 more)"),
        (ExceptionGroup("g", [ExceptionGroup("h", [ContextOverflow("long")])]), "context", "ContextOverflow: long"),
        (ExceptionGroup("g", [ValueError("a"), GenerationFailed("b")]), "generation", "GenerationFailed: b"),
        (BaseExceptionGroup("g", [asyncio.CancelledError()]), "environment", "CancelledError"),
        (ValueError("one\n  two\ttabs"), "environment", "ValueError: one two tabs"),
        (Mute(), "environment", "Mute: (its message raised RuntimeError)"),
    ],
)
def test_an_error_has_a_kind_and_a_line(error: BaseException, kind: str, reason: str) -> None:
    assert failure_of(error) == Failure(kind, reason)  # type: ignore[arg-type]


def test_the_line_ends_in_the_users_place() -> None:
    import json

    def parse() -> None:
        json.loads("{")

    with pytest.raises(ValueError) as caught:  # noqa: PT011
        parse()
    assert caught.value.__traceback__ is not None
    line = parse.__code__.co_firstlineno + 1
    assert failure_of(caught.value).reason.endswith(f"(at aes/test_failures.py:{line})")


@given(text=st.text(max_size=3000), where=st.text("abc/.:1", max_size=60))
def test_a_reason_is_one_line_of_bounded_length(text: str, where: str) -> None:
    why = failure("environment", text, where)
    assert len(why.reason) <= LONGEST
    assert len(why.reason.splitlines()) <= 1
    assert not where or why.reason.endswith(f"(at {where})")


class Odd:
    """What a careless play may put into an Episode."""

    def __float__(self) -> float:
        raise KeyError("no number")

    def __str__(self) -> str:
        raise KeyError("no text")


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        (None, "result", "play returned NoneType, not an Episode"),
        (0.5, "result", "play returned float, not an Episode"),
        (Episode, "result", "play returned type"),
        (Episode(math.nan, True, 1, 1), "fitness", "a fitness of nan"),
        (Episode(-math.inf, True, 1, 1), "fitness", "a fitness of -inf"),
        (Episode(None, True, 1, 1), "result", "TypeError"),  # type: ignore[arg-type]
        (Episode("high", True, 1, 1), "result", "ValueError"),  # type: ignore[arg-type]
        (Episode(10**400, True, 1, 1), "result", "OverflowError"),
        (Episode(Odd(), True, 1, 1), "result", "KeyError: 'no number'"),  # type: ignore[arg-type]
        (Episode(1.0, np.array([True, False]), 1, 1), "result", "ValueError"),  # type: ignore[arg-type]
        (Episode(1.0, True, math.inf, 1), "result", "OverflowError"),  # type: ignore[arg-type]
        (Episode(1.0, True, -1, 1), "result", "turns or tokens are not from 0 to 2**53"),
        (Episode(1.0, True, 1, 10**5000), "result", "turns or tokens are not from 0 to 2**53"),
        (Episode(1.0, True, 1, 1, failure=Odd()), "result", "KeyError: 'no text'"),  # type: ignore[arg-type]
        (object.__new__(Episode), "result", "AttributeError"),
    ],
)
def test_what_is_no_result_is_a_failed_episode(value: Any, kind: str, words: str) -> None:
    episode = checked(value)
    assert episode.failure is not None
    assert (episode.failure.kind, episode.fitness) == (kind, 0.0)
    assert words in episode.failure.reason
    assert len(episode.failure.reason) <= LONGEST


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("shop closed", Failure("result", "shop closed")),
        ("", Failure("result", "")),
        (Failure("environment", "shop\nclosed"), Failure("environment", "shop closed")),
        (Failure("closed", "x"), Failure("result", "closed: x")),  # type: ignore[arg-type]
        (ValueError("x"), Failure("result", "x")),
    ],
)
def test_a_plays_own_failure_is_kept_and_its_fitness_is_not(told: Any, kept: Failure) -> None:
    assert checked(Episode(math.nan, False, 3, 9, failure=told)) == Episode(0.0, False, 3, 9, failure=kept)


# The guard


def episodes(pattern: str) -> list[Episode]:
    bad = {"t": Failure("timeout", "too long"), "e": Failure("environment", "no stock")}
    return [failed(bad[letter]) if letter in bad else Episode(0.5, True, 1, 1) for letter in pattern]


def guard(**changes: Any) -> FailureGuard:
    return FailureGuard(Config.parse({"pairs": 4, "goals": 4, "max_failures": 0.5} | changes))


def test_up_to_the_share_nothing_happens_and_above_it_the_run_ends() -> None:
    """Two updates of 32 episodes: 32 failures may stand among the last 64, a 33rd may not."""
    one = guard()
    one.note(episodes("t" * 20 + "e" * 12 + "." * 32))
    for _ in range(10):
        one.note(episodes("t" * 32 + "." * 32))
    one.note(episodes("."))
    with pytest.raises(RunFailed) as caught:
        guard().note(episodes("e" * 3 + "t" * 30))
    assert str(caught.value) == (
        "33 of the last 33 episodes failed, more than max_failures 0.5 of 64 (30 timeout, 3 environment; most often"
        " timeout: too long (30 times); environment: no stock (3 times)); mend the cause and resume the run"
    )


def test_a_small_window_is_32_and_all_or_nothing_can_be_asked_for() -> None:
    guard(pairs=2, goals=1).note(episodes("t" * 16))
    with pytest.raises(RunFailed, match="17 of the last 17"):
        guard(pairs=2, goals=1).note(episodes("t" * 17))
    guard(max_failures=1.0).note(episodes("t" * 500))
    with pytest.raises(RunFailed, match="1 of the last 3"):
        guard(max_failures=0.0).note(episodes("..t"))


@given(pattern=st.text("t.", max_size=200), share=st.floats(0, 1))
def test_the_guard_counts_the_window_and_nothing_else(pattern: str, share: float) -> None:
    one = guard(max_failures=share)
    for end in range(1, len(pattern) + 1):
        failing = pattern[max(0, end - 64) : end].count("t")
        if failing > share * 64:
            with pytest.raises(RunFailed, match=rf"^{failing} of the last {min(end, 64)} "):
                one.note(episodes(pattern[end - 1]))
            return
        one.note(episodes(pattern[end - 1]))


def test_a_summary_of_nothing_is_nothing() -> None:
    assert summary([]) == ""
