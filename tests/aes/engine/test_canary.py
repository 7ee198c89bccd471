"""The canary sings for every way in which adapters can fail to be applied."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pytest

from aes.engine import canary
from aes.engine.fake import TextCodec
from aes.errors import CanaryFailed
from aes.types import Member

Effect = Callable[[Member, int], float]


class Faulty:
    """Log-probabilities by a formula of the member and the number of the call."""

    codec = TextCodec()

    def __init__(self, effect: Effect) -> None:
        self._effect = effect
        self._calls = 0

    async def first_logprobs(self, member: Member, prompt: Sequence[int], tokens: Sequence[int]) -> list[float]:
        self._calls += 1
        assert prompt
        return [-5.0 + self._effect(member, self._calls) * (token % 3 - 1) for token in tokens]


def faithful(member: Member, call: int) -> float:
    return member.sign * member.sigma


async def test_faithful_adapters_pass() -> None:
    await canary.check(Faulty(faithful), 0.01, 3)
    await canary.check(Faulty(lambda m, call: faithful(m, call) + 1e-5 * call), 0.01, 3)


@pytest.mark.parametrize(
    ("effect", "words"),
    [
        (lambda m, call: 0.0, "changes nothing"),
        (lambda m, call: abs(m.sign) * m.sigma, "changes nothing"),
        (lambda m, call: max(m.sign, 0) * m.sigma, "changes nothing"),
        (lambda m, call: faithful(m, call) + 0.01 * call, "differs from itself"),
        (lambda m, call: 0.01 * call, "differs from itself"),
        (lambda m, call: math.nan, "not finite"),
        (lambda m, call: math.nan if m.sign else 0.0, "not finite"),
        (lambda m, call: math.inf if call == 4 else faithful(m, call), "not finite"),
    ],
    ids=["ignored", "sign lost", "opposite lost", "noisy", "unrelated", "nan", "members nan", "infinite"],
)
async def test_unfaithful_adapters_do_not(effect: Effect, words: str) -> None:
    with pytest.raises(CanaryFailed, match=words) as error:
        await canary.check(Faulty(effect), 0.01, 3)
    assert str(error.value).startswith("canary: ")
