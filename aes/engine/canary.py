"""The start-up canary: proof that members' adapters are really applied.

Serving stacks have been seen to ignore an adapter, to serve another one, or to lose a small perturbation in rounding;
an ES run on such an engine measures noise for days. So before the first update four log-probability vectors are taken:
a perturbed member must differ from the base, its opposite from both, and the member built once more must be itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from aes.errors import CanaryFailed
from aes.protocols import Codec
from aes.types import Member

SEEN = 64


class Probe(Protocol):
    """What the canary needs of an engine."""

    @property
    def codec(self) -> Codec:
        """Gives the probe's prompt."""
        ...

    async def first_logprobs(self, member: Member, prompt: Sequence[int], tokens: Sequence[int]) -> list[float]:
        """Log-probabilities of `tokens` right after a prompt, the adapter freshly built."""
        ...


async def check(engine: Probe, sigma: float, seed: int, run: str = "") -> None:
    """Raise CanaryFailed unless adapters of size sigma are applied, distinct and reproducible."""
    prompt = engine.codec.encode(engine.codec.render([{"role": "user", "content": "Is this adapter applied?"}]))
    tokens = range(SEEN)
    member, opposite = (Member(0, seed, sign, sigma, run) for sign in (1, -1))
    base = await engine.first_logprobs(Member(0, run=run), prompt, tokens)
    plus = await engine.first_logprobs(member, prompt, tokens)
    minus = await engine.first_logprobs(opposite, prompt, tokens)
    again = await engine.first_logprobs(member, prompt, tokens)
    if not all(map(math.isfinite, (*base, *plus, *minus, *again))):
        raise CanaryFailed(
            f"canary: log-probabilities at sigma {sigma} are not finite (lower sigma, or use a dtype of more range)"
        )
    effect = min(_apart(base, plus), _apart(base, minus), _apart(plus, minus))
    error = _apart(plus, again)
    if effect == 0.0:
        raise CanaryFailed(
            f"canary: a perturbation of sigma {sigma} changes nothing (raise sigma, or use a finer dtype)"
        )
    if error > 0.1 * effect:
        raise CanaryFailed(
            f"canary: a member rebuilt from its seed differs from itself by {error:.2g}, from the base by {effect:.2g}"
            " (the engine does not serve adapters faithfully; see its LoRA settings)"
        )


def _apart(left: Sequence[float], right: Sequence[float]) -> float:
    return max(abs(a - b) for a, b in zip(left, right, strict=True))
