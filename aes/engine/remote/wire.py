"""What crosses the wire: records as JSON, checked wherever they arrive, and the names of the calls.

Every call but `basis` and `export` has a record of this file as its body and another as its answer; a refusal is a
`Refusal` under an HTTP status that says that it is one.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from aes.config import Lora
from aes.types import Member, Sampling, Update

WIRE = 1
"""Version of the calls and records; both sides must have the same."""

PREFIX = "/aes/"
LEASE = "aes-lease"
"""Header that says whose a call is."""

MAX_BODY = 16 << 20
"""Bytes of a record, in either direction."""

HOLD_S = 10.0
"""Seconds that a server keeps a driver's `hold` at most: meanwhile it knows that the driver is there."""

LEASE_S = 30.0
"""Seconds without a `hold` after which a driver is gone."""

Kind = Literal["token", "call", "busy", "unfit", "over", "lost", "generation", "canary", "engine"]

_EXTENSION = (
    "noise.py", "lora.py", "centre.py", "types.py", "structured.py", "engine/worker.py", "engine/cpu_lora.py",
    "engine/canary.py", "engine/vllm.py", "engine/remote/wire.py",
)  # fmt: skip
"""The sources that what an engine answers depends on."""

_SEEDS = 2**63


def _a_member(member: Member) -> Member:
    if not (0 <= member.version < 2**53 and 0 <= member.seed < _SEEDS and member.sign in (-1, 0, 1)):
        raise ValueError("no member has such a version, seed or sign")
    return member


def _a_sampling(sampling: Sampling) -> Sampling:
    if not (1 <= sampling.max_tokens < 2**31 and sampling.temperature >= 0 and 0 <= (sampling.seed or 0) < _SEEDS):
        raise ValueError("nothing is sampled with such max_tokens, temperature or seed")
    return sampling


def _an_update(update: Update) -> Update:
    if update.version < 0 or not all(0 <= term.seed < _SEEDS for term in update.terms):
        raise ValueError("no update has such a version or seed")
    return update


Text = Annotated[str, Field(max_length=1000)]
Version = Annotated[int, Field(ge=0, lt=2**53)]
Token = Annotated[int, Field(ge=0, lt=2**31)]


class Record(BaseModel):
    """One body; an unknown key, another type, nan or infinity is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Hello(Record):
    """What a server is.

    Attributes:
        extension: digest of the sources that its answers depend on.
        model, model_digest: the model's name there, and its digest ('' for one of a hub's cache).
        dtype, asked: the numbers it computes with, and what it was asked for ("auto" is vLLM's choice).
        slots: training members that decode together.
        rank: the highest rank of an adapter.
        modules: ends of the paths that adapters may change (None: every linear layer).
        eager: whether module inputs can be observed.
        problem: what speaks against it as it was started, with the cure; '' for nothing.
        guest: who drives it now; '' for nobody.
    """

    wire: int
    extension: Text
    vllm: Text
    torch: Text
    model: Text
    model_digest: Text
    dtype: Text
    asked: Text
    device: Text
    context: Annotated[int, Field(ge=1, lt=2**31)]
    slots: Annotated[int, Field(ge=1, lt=2**20)]
    rank: Annotated[int, Field(ge=1, lt=2**20)]
    modules: Annotated[tuple[Text, ...], Field(max_length=100_000)] | None
    eager: bool
    problem: Text
    guest: Text


class Open(Record):
    """A driver, in words, that wants to be served with adapters of this space."""

    driver: Annotated[str, Field(min_length=1, max_length=200)]
    lora: Lora


class Opened(Record):
    """The lease that a driver has now."""

    lease: Annotated[str, Field(min_length=16, max_length=100)]


class Hold(Record):
    """A driver is there; the answer may take up to so many seconds."""

    seconds: Annotated[float, Field(gt=0, le=HOLD_S)]


class Done(Record):
    """Nothing to be said."""


class Generate(Record):
    """A prompt for a member."""

    member: Annotated[Member, AfterValidator(_a_member)]
    prompt: Annotated[tuple[Token, ...], Field(min_length=1, max_length=2**21)]
    sampling: Annotated[Sampling, AfterValidator(_a_sampling)]


class Generated(Record):
    """A reply."""

    token_ids: Annotated[tuple[Token, ...], Field(max_length=2**21)]
    finish_reason: Text


class Observe(Record):
    """Begin or end the recording of module inputs."""

    on: bool


class Start(Record):
    """Make version 0."""

    seed: Annotated[int, Field(ge=0, lt=_SEEDS)]
    sigma: Annotated[float, Field(gt=0)]


class Started(Record):
    """Version 0."""

    digest: Text
    dim: Annotated[int, Field(ge=1, lt=2**53)]


class Advance(Record):
    """Apply an update."""

    update: Annotated[Update, AfterValidator(_an_update)]
    keep: Annotated[tuple[Version, ...], Field(max_length=100_000)]
    lags: Annotated[tuple[Version, ...], Field(max_length=100_000)]


class Moved(Record):
    """The new version's digest, and how far it was to the old ones at the lags asked for (None: no longer held)."""

    digest: Text
    moved: tuple[float | None, ...]


class Export(Record):
    """Hand out a version's adapter."""

    version: Version


class Refusal(Record):
    """Why a call came to nothing."""

    error: Kind
    message: Annotated[str, Field(max_length=4000)]


@lru_cache(1)
def extension() -> str:
    """A digest of the sources on which an engine's answers depend. Reads a few small files."""
    root = Path(__file__).parents[2]
    state = hashlib.blake2b(digest_size=8)
    for name in _EXTENSION:
        state.update(f"{name}\0".encode() + (root / name).read_bytes() + b"\0")
    return state.hexdigest()
