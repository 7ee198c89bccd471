"""The grid of a study: which arms it has, each a schedule and an estimator over otherwise equal settings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from aes.config import Config, Settings
from aes.errors import ConfigError

ALL_STALE_LAG = 16
"""The lag of the stress test `all-stale`, far past the grid."""

FROZEN_BLOCK = 4
"""Updates from one centre in the stress test `frozen`."""

Estimator = Literal["pairs", "zscore", "ranks"]
Stragglers = Literal["wait", "drop"]
Kind = Literal["synchronous", "natural", "controlled", "all-stale", "frozen"]


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to train, compared with others.

    Attributes:
        kind: the schedule.
        estimator: from fitness to z.
        lag: the bound on lag (natural), or the lag of what is stale (controlled, all-stale), in updates; for `frozen`
            the longest, one less than the updates of a block.
        frac: share of measurements that are stale; of a controlled arm alone.
        on_stale: what becomes of stragglers; of a natural arm alone.
    """

    kind: Kind
    estimator: Estimator = "pairs"
    lag: int = 0
    frac: float | None = None
    on_stale: Stragglers = "wait"

    @property
    def name(self) -> str:
        """The arm in a folder's name."""
        match self.kind:
            case "synchronous":
                name = "sync"
            case "natural":
                name = f"natural-{self.lag}" + ("-drop" if self.on_stale == "drop" else "")
            case "controlled":
                name = f"lag-{self.lag}-frac-{self.frac:g}"
            case "all-stale":
                name = f"all-stale-{self.lag}"
            case "frozen":
                name = f"frozen-{self.lag + 1}"
        return name if self.estimator == "pairs" else f"{name}-{self.estimator}"

    @property
    def label(self) -> str:
        """The schedule in words, as tables and pictures show it; the estimator stands elsewhere there."""
        match self.kind:
            case "synchronous":
                return "synchronous"
            case "natural":
                return f"natural, lag ≤ {self.lag}" + (", drop" if self.on_stale == "drop" else "")
            case "controlled":
                return f"lag {self.lag}, {self.frac:.0%} stale"
            case "all-stale":
                return f"all stale, lag {self.lag}"
            case "frozen":
                return f"frozen for {self.lag + 1}"

    @property
    def changes(self) -> dict[str, Any]:
        """The settings of a run that the arm decides on."""
        return {
            "estimator": self.estimator,
            "max_lag": self.lag,
            "stale_frac": 1.0 if self.kind == "all-stale" else self.frac,
            "frozen": self.kind == "frozen",
            "on_stale": self.on_stale,
        }

    def config(self, common: Config, seed: int) -> Config:
        """The settings of one run of this arm. Raises ConfigError."""
        return Config.parse(common.model_dump() | self.changes | {"seed": seed})


DECIDED = frozenset(Arm("synchronous").changes)
"""Settings that are the arms' to decide."""


class Grid(Settings):
    """Which arms a study has, and how many seeds each; the synchronous arm is always there."""

    natural: Annotated[tuple[int, ...], Field(description="Natural asynchrony: bounds on lag, in updates.")] = (1, 4)
    lags: Annotated[tuple[int, ...], Field(description="Controlled: lags, in updates, each with every fraction.")] = (
        *(1, 2, 4, 8),
    )
    fracs: Annotated[tuple[float, ...], Field(description="Controlled: shares of measurements that are stale.")] = (
        *(0.25, 0.5, 1.0),
    )
    stress: Annotated[
        bool,
        Field(description=f"Stress tests: all stale at lag {ALL_STALE_LAG}, frozen for {FROZEN_BLOCK} updates."),
    ] = True
    estimators: Annotated[
        tuple[Estimator, ...], Field(min_length=1, description="Estimators; every arm is run with each.")
    ] = ("pairs",)
    on_stale: Annotated[
        tuple[Stragglers, ...], Field(min_length=1, description="Natural arms: wait for stragglers, or drop them.")
    ] = ("wait",)
    seeds: Annotated[int, Field(ge=1, description="Runs of every arm, each with a seed of its own.")] = 3

    @field_validator("natural", "lags", "fracs", "estimators", "on_stale")
    @classmethod
    def _once(cls, values: tuple[Any, ...]) -> tuple[Any, ...]:
        return (
            tuple(sorted(set(values)))
            if all(isinstance(v, int | float) for v in values)
            else (tuple(dict.fromkeys(values)))
        )

    @model_validator(mode="after")
    def _possible(self) -> Self:
        for problem in self._impossible():
            raise ValueError(problem)
        return self

    def _impossible(self) -> Iterator[str]:
        if self.natural and self.natural[0] < 1:
            yield f"natural {self.natural[0]}: below 1 it is the synchronous arm, which is always there (leave it out)"
        if self.lags and self.lags[0] < 1:
            yield f"lags {self.lags[0]}: nothing is stale without a lag (name lags from 1 up)"
        if self.fracs and self.fracs[0] <= 0:
            yield f"fracs {self.fracs[0]:g}: with a lag, some measurements must be stale (name shares above 0)"
        if self.fracs and self.fracs[-1] > 1:
            yield f"fracs {self.fracs[-1]:g}: more stale measurements than an update has (name shares up to 1)"
        if self.lags and not self.fracs:
            yield f"lags {_words(self.lags)} without fracs: how many measurements are stale? (name fracs, or no lags)"

    def arms(self, common: Config) -> tuple[Arm, ...]:
        """Every arm, the synchronous one of each estimator first. Raises ConfigError for what `common` can't have."""
        self._check_lags(common)
        arms = [arm for estimator in self.estimators for arm in self._arms(estimator)]
        for arm in arms:
            _check_share(arm, arm.config(common, common.seed))
        self._check_distinct(common)
        return tuple(arms)

    def merged(self, other: Grid) -> Grid:
        """A grid with what either has."""
        mine, theirs = ({**grid.model_dump(), **({} if grid.lags else {"fracs": ()})} for grid in (self, other))
        both = {name: (*mine[name], *theirs[name]) for name, value in mine.items() if isinstance(value, tuple)}
        return Grid.parse({**both, "stress": self.stress or other.stress, "seeds": max(self.seeds, other.seeds)})

    def _arms(self, estimator: Estimator) -> Iterator[Arm]:
        yield Arm("synchronous", estimator)
        for lag in self.natural:
            for on_stale in self.on_stale:
                yield Arm("natural", estimator, lag, on_stale=on_stale)
        for lag in self.lags:
            for frac in self.fracs:
                yield Arm("controlled", estimator, lag, frac)
        if self.stress:
            yield Arm("all-stale", estimator, ALL_STALE_LAG)
            yield Arm("frozen", estimator, FROZEN_BLOCK - 1)

    def _check_lags(self, common: Config) -> None:
        reached = common.updates - 1
        if too_late := [lag for lag in self.lags if lag > reached]:
            raise ConfigError(
                f"lags {too_late[0]}: {common.updates} updates never reach it (raise updates, or name smaller lags)"
            )
        if self.stress and reached < ALL_STALE_LAG:
            raise ConfigError(
                f"stress: {common.updates} updates never reach lag {ALL_STALE_LAG}"
                f" (raise updates above {ALL_STALE_LAG}, or go without: --no-stress)"
            )

    def _check_distinct(self, common: Config) -> None:
        """Refuse shares that come to the same number of measurements."""
        for estimator in self.estimators if self.lags else ():
            n = Arm("synchronous", estimator).config(common, 0).per_update
            for one, other in combinations(self.fracs, 2):
                if round(one * n) == round(other * n):
                    raise ConfigError(
                        f"fracs {one:g} and {other:g}: both are {round(one * n)} of {n} measurements"
                        " (leave one out, or raise pairs)"
                    )


def _check_share(arm: Arm, config: Config) -> None:
    if arm.frac is not None and round(arm.frac * config.per_update) == 0:
        raise ConfigError(
            f"fracs {arm.frac:g}: of {config.per_update} measurements an update that is none (raise fracs or pairs)"
        )


def _words(values: tuple[Any, ...]) -> str:
    return ",".join(f"{value:g}" for value in values)
