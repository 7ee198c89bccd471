"""What travels between the parts of a run: small frozen records, no behaviour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NotRequired, TypedDict

from aes.structured import Structured


class Message(TypedDict):
    """One chat message, in the words of the OpenAI chat format; the last two keys go with tools."""

    role: str
    content: str
    tool_calls: NotRequired[Sequence[Mapping[str, Any]]]
    tool_call_id: NotRequired[str]


Tool = Mapping[str, Any]
"""A function the model may call, in the words of the OpenAI chat format."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How one completion is drawn. Temperature 0 is greedy; `seed` matters only above it.

    `structured` is the form that the reply must have.
    """

    max_tokens: int = 64
    temperature: float = 0.0
    seed: int | None = None
    stop: tuple[str, ...] = ()
    structured: Structured | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """What a policy answered: its text, its token ids, and why it ended (`stop` or `length`)."""

    text: str
    token_ids: tuple[int, ...]
    prompt_tokens: int
    finish_reason: str


FailureKind = Literal["environment", "timeout", "generation", "context", "fitness", "engine", "result"]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an episode came to nothing.

    Kinds: `environment` (the user's play raised), `timeout` (it took too long), `generation` (the engine refused or
    lost a request), `context` (the conversation outgrew the model), `fitness` (not a finite number), `engine` (it was
    lost), `result` (play returned what is no Episode, or reported the failure itself).
    """

    kind: FailureKind
    reason: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Episode:
    """One played goal. A failed episode is data: `failure` says why and `fitness` is then ignored.

    `turns` and `tokens` may be left out: what the policy answered is counted.
    """

    fitness: float
    success: bool
    turns: int = 0
    tokens: int = 0
    failure: Failure | None = None
    transcript: tuple[Message, ...] = ()
    info: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Member:
    """One policy an engine can serve: the adapter theta_version + sign * sigma * eps(seed).

    Sign 0 is the centre itself (evaluation); seed and sigma are then without meaning. `run` tells runs apart that share
    an engine.
    """

    version: int
    seed: int = 0
    sign: int = 0
    sigma: float = 0.0
    run: str = ""

    @property
    def name(self) -> str:
        """A name unique to these weights, which the engine's adapter and prefix caches key on."""
        run = f"{self.run}/" if self.run else ""
        return f"{run}v{self.version}/s{self.seed}/{self.sign:+d}/{self.sigma!r}"

    @classmethod
    def from_name(cls, name: str) -> Member:
        """The member that a name stands for."""
        *run, version, seed, sign, sigma = name.split("/")
        return cls(int(version[1:]), int(seed[1:]), int(sign), float(sigma), "/".join(run))


@dataclass(frozen=True, slots=True)
class Term:
    """One summand of an update: coefficient * eps(seed)."""

    seed: int
    coefficient: float


@dataclass(frozen=True, slots=True)
class Update:
    """What takes the centre from `version` to the next: see `Centre.advance` for the formula.

    Without terms it is a skipped update: the version counts on, theta stays.
    """

    version: int
    terms: tuple[Term, ...]
    shrink: float = 0.0
    momentum: float = 0.0


@dataclass(frozen=True, slots=True)
class Proposal:
    """One direction sent out for measurement: its members play the same goals at one version.

    `index` counts dispatches in the run and never repeats; `signs` is (1, -1) for an antithetic pair and
    (1,) for a lone member; `update` is the update a controlled schedule reserves it for (None: any);
    `goals` are positions in the task's training goals.
    """

    index: int
    seed: int
    version: int
    sigma: float
    signs: tuple[int, ...]
    goals: tuple[int, ...]
    update: int | None = None

    @property
    def members(self) -> tuple[Member, ...]:
        """The adapters this proposal needs, in the order of its signs."""
        return tuple(Member(self.version, self.seed, sign, self.sigma) for sign in self.signs)


@dataclass(frozen=True, slots=True)
class Measurement:
    """The fitness of one proposal: per member, the mean over the goals that every member finished."""

    proposal: Proposal
    fitness: tuple[float, ...]
    episodes: int
    failures: int
    tokens: int
    turns: int
    successes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Advanced:
    """What an engine says after an update of version v: the digest of version v + 1, and how far v was from older ones.

    `moved` maps a lag to ||theta_v - theta_{v - lag}|| (nan where that version is no longer held).
    """

    digest: str
    moved: Mapping[int, float]
