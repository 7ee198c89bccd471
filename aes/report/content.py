"""What a report says, in words and tables, before it is a page or a Markdown file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from aes.report.figures import ArmFigures
from aes.report.pictures import Picture
from aes.report.read import Material
from aes.study.grid import DECIDED
from aes.study.statistics import Interval

FEW_SEEDS = 8
"""Below so many seeds, an interval over seeds is said to be too narrow."""


@dataclass(frozen=True)
class Table:
    """A table; the first column names the row. `dim` rows are the reference."""

    title: str
    note: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Content:
    """A whole report.

    Attributes:
        summary: plain sentences, the most important first.
        facts: what was run, name by name.
        reading: how the words and figures are meant.
    """

    title: str
    summary: tuple[str, ...]
    tables: tuple[Table, ...]
    pictures: tuple[Picture, ...]
    facts: tuple[tuple[str, str], ...]
    reading: tuple[str, ...]


def content(material: Material, arms: Sequence[ArmFigures], pictures: Sequence[Picture]) -> Content:
    """Put a report together."""
    several = len({figures.arm.estimator for figures in arms}) > 1
    what = "Study" if material.study else "Run"
    return Content(
        title=f"{what} {material.folder.resolve().name}",
        summary=tuple(_summary(material, arms)),
        tables=(_scores(arms, several, compared=material.study), _costs(arms, several)),
        pictures=tuple(pictures),
        facts=tuple(_facts(material)),
        reading=tuple(_reading(arms)),
    )


def name_of(figures: ArmFigures, several: bool) -> str:
    """An arm in words, its estimator too where there are several."""
    return f"{figures.arm.label} · {figures.arm.estimator}" if several else figures.arm.label


def signed(interval: Interval) -> str:
    """A difference with its interval."""
    if math.isnan(interval.mean):
        return "-"
    return f"{interval.mean:+.3f} ({interval.low:+.3f} to {interval.high:+.3f})"


def score(interval: Interval) -> str:
    """A score with its interval."""
    return f"{interval.mean:.3f} ({interval.low:.3f} to {interval.high:.3f})"


def rate(interval: Interval) -> str:
    """A success rate with its interval."""
    if math.isnan(interval.mean):
        return "-"
    return f"{interval.mean:.1%} ({interval.low:.1%} to {interval.high:.1%})"


def _summary(material: Material, arms: Sequence[ArmFigures]) -> Iterator[str]:
    several = len({figures.arm.estimator for figures in arms}) > 1
    for figures in arms:
        if figures.arm.kind == "synchronous" or not material.study:
            first = next(iter(figures.curve.values()))
            name = name_of(figures, several)
            yield (
                f"{name[0].upper()}{name[1:]}: held-out score {first.mean:.3f} at the start,"
                f" {score(figures.final)} at the end, over {_seeds(figures)}."
            )
    compared = [figures for figures in arms if figures.difference and not math.isnan(figures.difference.mean)]
    if compared:
        yield from _verdict(compared)
    if material.unfinished:
        shown = ", ".join(material.unfinished[:3]) + (" and others" if len(material.unfinished) > 3 else "")
        left_out = "left out" if material.study else "as far as it has come"
        yield f"Not finished, {left_out}: {len(material.unfinished)} ({shown})."


def _verdict(compared: Sequence[ArmFigures]) -> Iterator[str]:
    """Which arms end apart from synchronous, and what chance alone would do."""
    compared = [figures for figures in compared if len(figures.seeds) > 1]
    if not compared:
        yield "One seed of each arm: what differs may be the luck of the seed, of which no interval here knows."
        return
    apart = [figures for figures in compared if figures.difference and not figures.difference.holds_zero]
    if not apart:
        yield (
            f"None of the {len(compared)} other arms ends apart from synchronous by more than noise:"
            " every interval of a difference holds zero."
        )
        return
    yield (
        f"Of {len(compared)} other arms, {len(apart)} end apart from synchronous by more than noise, all others within"
        f" it. At 95 % each, about {max(1, round(0.05 * len(compared)))} would stand out by chance."
    )
    several = len({figures.arm.estimator for figures in compared}) > 1
    for word, sign in (("Worse", -1), ("Better", 1)):
        named = [
            f"{name_of(f, several)} ({f.difference.mean:+.3f})"
            for f in apart
            if f.difference and f.difference.mean * sign > 0
        ]
        if named:
            yield f"{word}: {'; '.join(named)}."


def _scores(arms: Sequence[ArmFigures], several: bool, compared: bool) -> Table:
    columns: tuple[str, ...] = ("arm", "final score", "final success", "best score", "success there", "seeds")
    rows = [_score_row(f, several) for f in arms]
    if compared:
        columns = (*columns[:2], "against synchronous", *columns[2:])
        rows = [(*row[:2], _against(f), *row[2:]) for row, f in zip(rows, arms, strict=True)]
    note = "Means with 95 % intervals over seeds and goals. The best version is chosen on the goals it is judged by,"
    note += " so it is a little flattered."
    return Table("Held-out scores", note, columns, tuple(rows))


def _score_row(f: ArmFigures, several: bool) -> tuple[str, ...]:
    best = f"{score(f.best)} at {f.best_version}"
    return name_of(f, several), score(f.final), rate(f.success), best, rate(f.best_success), str(len(f.seeds))


def _against(figures: ArmFigures) -> str:
    if figures.difference is None:
        return "reference" if figures.arm.kind == "synchronous" else "-"
    return signed(figures.difference) + (", noise" if figures.difference.holds_zero else "")


def _costs(arms: Sequence[ArmFigures], several: bool) -> Table:
    columns = ("arm", "stale", "mean lag", "lags", "moved / sigma", "evaluations", "wall time", "idle", "discarded")
    rows = tuple(
        (
            name_of(f, several),
            f"{f.stale:.0%}",
            f"{f.lag:.2f}",
            histogram(f),
            "-" if math.isnan(f.moved) else f"{f.moved:.2f}",
            f"{f.episodes:,.0f}",
            seconds(f.seconds),
            f"{f.idle:.0%}",
            f"{seconds(f.discarded_seconds)} ({f.discarded:.1%})" if f.discarded_seconds else "none",
        )
        for f in arms
    )
    note = "Lags are realised ones, in updates, over all seeds; the rest is of one run, as the mean over seeds."
    note += _troubles(arms)
    return Table("Staleness and cost", note, columns, rows)


def _troubles(arms: Sequence[ArmFigures]) -> str:
    skipped, failed = sum(f.skipped * len(f.seeds) for f in arms), sum(f.failures * len(f.seeds) for f in arms)
    words = [f"{skipped:.0f} updates were skipped, for all fitness was equal"] if skipped else []
    words += [f"{failed:.0f} episodes failed for good"] if failed else []
    return f" In all runs together, {' and '.join(words)}." if words else ""


def histogram(figures: ArmFigures) -> str:
    """The realised lags that came most often, with their shares."""
    total = max(figures.lags.total(), 1)
    most = sorted(lag for lag, _ in figures.lags.most_common(4))
    parts = [f"{lag}: {figures.lags[lag] / total:.0%}" for lag in most]
    rest = total - sum(figures.lags[lag] for lag in most)
    return ", ".join(parts) + (f", others: {rest / total:.0%}" if rest > 0 else "")


def seconds(value: float) -> str:
    """A time in words."""
    if value < 60:
        return f"{value:.1f} s"
    whole = round(value)
    return f"{whole // 60}:{whole % 60:02d} min" if whole < 3600 else f"{whole // 3600}:{whole % 3600 // 60:02d} h"


def _seeds(figures: ArmFigures) -> str:
    return "one seed" if len(figures.seeds) == 1 else f"{len(figures.seeds)} seeds"


def _facts(material: Material) -> Iterator[tuple[str, str]]:
    about, task, engine = material.about, material.task, material.engine
    yield "task", ", ".join(f"{key} {value}" for key, value in task.items() if key != "catalog")
    if catalog := task.get("catalog"):
        yield "catalogue hash", catalog
    told = (item for item in engine.items() if item[0] not in ("lora", "model_digest"))
    yield "engine", ", ".join(f"{key} {_plain(value)}" for key, value in told)
    if digest := engine.get("model_digest"):
        yield "model digest", digest
    if lora := engine.get("lora"):
        yield "adapters", lora
    if material.machine:
        yield "machine", material.machine
    yield (
        "each run",
        (
            f"{about['updates']} updates of {about['pairs']} pairs x {about['goals']} goals,"
            f" sigma {about['sigma']:g}, lr {about['lr']:g}; first seed {about['seed']}"
        ),
    )
    when = f"every {about['eval_every']} updates" if about["eval_every"] else "before and after"
    yield "held out", f"{about['eval_goals']} goals, the same for all, {when}"
    known = {"updates", "pairs", "goals", "sigma", "lr", "seed", "eval_goals", "eval_every", *task, *engine}
    known |= DECIDED if material.study else set()
    rest = {key: value for key, value in about.items() if key not in known and value not in (None, [], "")}
    yield "other settings", ", ".join(f"{key} {_plain(value)}" for key, value in sorted(rest.items()))


def _plain(value: object) -> str:
    """A setting in words; of a path its last part, since pages are passed on and folders are nobody's business."""
    if isinstance(value, list):
        return ",".join(map(_plain, value))
    return PurePath(value).name if isinstance(value, str) and value.startswith("/") else str(value)


def _reading(arms: Sequence[ArmFigures]) -> Iterator[str]:
    yield (
        "Lag is the version that consumes a measurement minus the version its member was dispatched from, in updates;"
        " stale means a lag of at least 1."
    )
    yield (
        "Intervals: bootstrap over seeds and goals, drawn independently (all runs play the same held-out goals; Owen's"
        " pigeonhole bootstrap), 10,000 resamples, the middle 95 %. Differences are paired by seed and goal."
    )
    if any(len(figures.seeds) < FEW_SEEDS for figures in arms):
        yield (
            f"Fewer than {FEW_SEEDS} seeds make intervals too narrow: with 3 seeds an interval of 95 % covers the truth"
            " about 82 times in 100 (simulated in the tests of aes). With one seed it is over goals alone."
        )
    yield (
        "Moved / sigma: how far the centre had moved since a stale measurement's member was dispatched, over the size"
        " of a perturbation; the mean over stale measurements. It is what staleness means for evolution strategies."
    )
    yield (
        "Evaluations are fitness episodes. Idle is the share of the players' time without a member to play. Discarded"
        " is play time of members that were dropped or void, and its share of all play time."
    )
