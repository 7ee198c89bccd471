"""What a run is asked to do. Settings state intent; everything else is derived from them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from aes.errors import ConfigError

_SHOWN = 200  # characters of a value that is refused


class Settings(BaseModel):
    """Frozen settings; an unknown key is refused with the nearest known one."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @classmethod
    def parse(cls, values: dict[str, Any]) -> Self:
        """Build from plain values. Raises ConfigError: one line that names the field, the value and the cure."""
        try:
            return cls(**values)
        except ValidationError as error:
            raise ConfigError(explain(error.errors(include_url=False)[0], cls.model_fields)) from None


class Config(Settings):
    """One evolution-strategies run."""

    seed: Annotated[int, Field(ge=0, lt=2**32, description="Seed of everything random in the run.")] = 0
    updates: Annotated[int, Field(ge=1, description="ES updates to apply.")] = 40
    pairs: Annotated[int, Field(ge=2, description="Directions measured per update (two members each).")] = 16
    goals: Annotated[int, Field(ge=1, description="Training goals that each member plays.")] = 16
    sigma: Annotated[float, Field(gt=0, description="Standard deviation of the perturbation.")] = 1.5
    sigma_floor: Annotated[
        float, Field(gt=0, le=1, description="Share of sigma left at the end of a cosine (1: constant).")
    ] = 1.0
    lr: Annotated[float, Field(ge=0, description="Step size of an update (0: measure only).")] = 1.5
    estimator: Annotated[Literal["pairs", "zscore", "ranks"], Field(description="From fitness to z.")] = "pairs"
    momentum: Annotated[float, Field(ge=0, lt=1, description="Share of the last step that is kept.")] = 0.0
    decay: Annotated[float, Field(ge=0, description="Pull back to the start, times lr, per update.")] = 0.0
    max_lag: Annotated[int, Field(ge=0, description="Oldest measurement an update may use, in updates.")] = 1
    stale_frac: Annotated[
        float | None, Field(ge=0, le=1, description="Controlled schedule: share of measurements at full lag.")
    ] = None
    frozen: Annotated[
        bool,
        Field(description="Controlled schedule: max_lag + 1 updates at a time start all members from one centre."),
    ] = False
    on_stale: Annotated[
        Literal["wait", "drop"],
        Field(description="Stragglers at the bound: wait, or drop (biased against long episodes)."),
    ] = "wait"
    in_flight: Annotated[
        int | None, Field(ge=1, description="Members playing at once (None: as many as the engine has slots).")
    ] = None
    temperature: Annotated[float, Field(ge=0, description="Sampling temperature (0: greedy).")] = 0.0
    max_tokens: Annotated[int, Field(ge=1, description="Most tokens per reply.")] = 64
    retries: Annotated[int, Field(ge=0, description="Fresh tries for a failed episode before it is excused.")] = 1
    episode_seconds: Annotated[
        float | None, Field(ge=0, description="Seconds after which an episode has failed (0: it may take for ever).")
    ] = 1800.0
    min_good: Annotated[
        float, Field(ge=0, le=1, description="Share of a direction's goals that must be good, else a new one is tried.")
    ] = 0.5
    max_failures: Annotated[
        float, Field(ge=0, le=1, description="Share of recent episodes that may fail before the run ends (1: any).")
    ] = 0.5
    eval_every: Annotated[int, Field(ge=0, description="Evaluate the centre every so many updates (0: ends only).")] = 5
    eval_goals: Annotated[int, Field(ge=0, description="Held-out goals per evaluation (0: never evaluate).")] = 300
    eval_concurrency: Annotated[int, Field(ge=1, description="Evaluation episodes at once beside training.")] = 64

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.stale_frac is not None and self.stale_frac > 0 and self.max_lag == 0:
            raise ValueError(f"stale_frac {self.stale_frac} needs a lag to be stale by (set max_lag to at least 1)")
        if self.stale_frac is not None and self.on_stale == "drop":
            raise ValueError(
                "on_stale 'drop' has no meaning with stale_frac: a controlled schedule never drops (unset one)"
            )
        if self.frozen:
            self._check_frozen()
        return self

    def _check_frozen(self) -> None:
        if self.max_lag == 0:
            raise ValueError("frozen needs a lag: a block is of max_lag + 1 updates (set max_lag to at least 1)")
        if self.stale_frac is not None:
            raise ValueError(f"frozen fixes every lag, and so does stale_frac {self.stale_frac} (unset one)")
        if self.on_stale == "drop":
            raise ValueError(
                "on_stale 'drop' has no meaning with frozen: a controlled schedule never drops (unset one)"
            )

    @property
    def signs(self) -> tuple[int, ...]:
        """The members of one proposal: an antithetic pair, or one alone for `zscore`."""
        return (1,) if self.estimator == "zscore" else (1, -1)

    @property
    def per_update(self) -> int:
        """Proposals per update; `zscore` takes two lone members for each pair, at equal cost."""
        return self.pairs * 2 // len(self.signs)

    @property
    def episodes_per_update(self) -> int:
        """Episodes that one update costs when none fails."""
        return 2 * self.pairs * self.goals

    @property
    def capacity(self) -> int:
        """The most proposals that can be out at once under the bound."""
        return self.per_update * (self.max_lag + 1)

    @property
    def schedule_name(self) -> str:
        """The schedule in words."""
        if self.max_lag == 0:
            return "synchronous"
        if self.frozen:
            return f"frozen, blocks of {self.max_lag + 1} updates from one centre"
        if self.stale_frac is None:
            return f"natural, lag <= {self.max_lag}, stragglers: {self.on_stale}"
        return f"controlled, {self.stale_frac:.0%} of measurements at lag {self.max_lag}"


class Lora(Settings):
    """The adapter space: which low-rank factors are trained, and how A starts."""

    rank: Annotated[int, Field(ge=1, le=512, description="Rank of every adapter.")] = 8
    alpha: Annotated[float | None, Field(gt=0, description="Scale alpha / rank of B A (None: alpha = rank).")] = None
    targets: Annotated[
        tuple[str, ...], Field(min_length=1, description="Linear layers by name (down_proj), or all-linear.")
    ] = ("all-linear",)
    layers: Annotated[
        tuple[int, ...] | None, Field(description="Layer numbers, negative from the end (None: all).")
    ] = None
    factors: Annotated[Literal["B", "AB"], Field(description="Perturb and train B alone, or both factors.")] = "B"
    basis: Annotated[
        Literal["random", "activations"], Field(description="A from a seed, or from the inputs the base model sees.")
    ] = "random"


def nearest(word: str, known: Iterable[str]) -> str:
    """A question that offers the nearest known word, or nothing."""
    match = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f"; did you mean {match[0]!r}?" if match else ""


def explain(problem: ErrorDetails, known: Iterable[str]) -> str:
    """One of pydantic's complaints as one line with the field, the value and the cure."""
    field = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        return f"unknown setting {field!r}{nearest(field, known)}"
    message = problem["msg"].removeprefix("Value error, ")
    value = repr(problem["input"])
    shown = value if len(value) <= _SHOWN else f"{value[: _SHOWN - 3]}..."
    return f"{field} = {shown}: {message}" if field else message
