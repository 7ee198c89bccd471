"""`aes compare`: what two runs and more were told differently, and how their scores differ, goal by goal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from aes.errors import ConfigError, UsageError
from aes.journal import to_json
from aes.metrics import gain
from cli.glance import Glance, glance
from cli.runs import plain, score
from cli.view.live import clock
from cli.view.safe_text import safe
from cli.view.terminal import unclipped

_SHOWN = 24  # characters of a setting
_COLUMN = 16  # columns of the terminal that a score takes
_LEFT_OUT = {"run_dir", "tensorboard", "engine lora", "engine dim", "engine engine"}
"""What makes no difference, or follows from what is shown anyway."""


@dataclass(frozen=True)
class Difference:
    """How much better a run scores than the reference: the mean over goals that both played, and its 95 % interval.

    `why` says why there is none.
    """

    run: str
    version: int | None
    reference_version: int | None
    goals: int = 0
    mean: float | None = None
    half: float | None = None
    why: str = ""


def compare(folders: Sequence[Path], *, as_json: bool) -> None:
    """Print runs side by side. Raises DataError for what is no run, ConfigError for fewer than two."""
    if len(folders) < 2:
        raise ConfigError("aes compare takes two runs or more (aes runs shows one)")
    runs = [glance(folder) for folder in folders]
    if as_json:
        print(to_json(_plain(runs), indent=2))
    else:
        console = unclipped(Console())
        console.print(picture(runs, console))


def picture(runs: Sequence[Glance], console: Console) -> RenderableType:
    """Who they are, settings that differ, scores at equal versions, differences from the first."""
    at_once = max((console.width - 12) // _COLUMN, 1)
    settings, scores = differing(runs), shared_versions(runs)
    parts: list[RenderableType] = [_legend(runs)]
    for start in range(0, len(runs), at_once):
        part = range(start, min(start + at_once, len(runs)))
        rows = [(safe(name), [_word(values[number]) for number in part]) for name, values in settings.items()]
        parts += ["", Text("settings that differ", "bold"), _table(part, rows)] if rows else []
        rows = [(str(version), [score(runs[n], version, half=True) for n in part]) for version in scores]
        rows.append(("last", [_last(runs[number]) for number in part]))
        parts += ["", Text("mean score on held-out goals, by version", "bold"), _table(part, rows)]
    return Group(*parts, "", _differences(runs))


def differing(runs: Sequence[Glance]) -> dict[str, list[Any]]:
    """What the runs were told and made of differently: name -> the value of each run."""
    ours = all(isinstance(run.about["about"], dict) for run in runs)
    told = [_told(run, ours) for run in runs]
    names = dict.fromkeys(name for values in told for name in values)
    table = {name: [values.get(name) for values in told] for name in names}
    return {name: values for name, values in table.items() if any(value != values[0] for value in values)}


def shared_versions(runs: Sequence[Glance]) -> list[int]:
    """The versions that two runs and more have evaluated."""
    counted = [version for run in runs for version in run.evaluations]
    return sorted({version for version in counted if counted.count(version) > 1})


def difference(run: Glance, reference: Glance, version: int | None, reference_version: int | None) -> Difference:
    """One run's version against the reference's, paired by goals."""
    name = run.folder.absolute().name
    if version is None or reference_version is None:
        return Difference(name, version, reference_version, why="not evaluated yet")
    ours, theirs = run.evaluations[version], reference.evaluations[reference_version]
    try:
        mean, half = gain(ours, theirs)
    except UsageError as error:
        return Difference(name, version, reference_version, why=str(error))
    return Difference(name, version, reference_version, min(len(ours.scores), len(theirs.scores)), mean, half)


def differences(run: Glance, reference: Glance) -> list[Difference]:
    """The difference at the last version that both have evaluated, and that of the last ones where they are others."""
    common = max(run.evaluations.keys() & reference.evaluations.keys(), default=None)
    pairs = dict.fromkeys([(common, common), (run.last, reference.last)])
    found = [difference(run, reference, *versions) for versions in pairs]
    return found[:1] if found[0].why and found[0].why == found[-1].why else found


def _told(run: Glance, ours: bool) -> dict[str, Any]:
    """What a run was told, by aes train or by another program, and what its task and its engine say of themselves."""
    about = run.about
    told = about["config"] | (about["about"] if ours else {})
    made = {f"{part} {name}": value for part in ("task", "engine") for name, value in about[part].items()}
    return {name: value for name, value in (told | made).items() if name not in _LEFT_OUT}


def _plain(runs: Sequence[Glance]) -> dict[str, Any]:
    return {
        "runs": [plain(run) for run in runs],
        "settings": differing(runs),
        "versions": shared_versions(runs),
        "differences": [asdict(found) for run in runs[1:] for found in differences(run, runs[0])],
    }


def _legend(runs: Sequence[Glance]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column()
    table.add_column(overflow="fold")
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    for number, run in enumerate(runs):
        assert run.config is not None
        done = f"{run.version} of {run.config.updates} updates in {clock(run.seconds)}"
        table.add_row(Text(letter(number), "bold cyan"), safe(str(run.folder)), run.state, done)
    return table


def _table(part: range, rows: Sequence[tuple[str, Sequence[str]]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("")
    for number in part:
        table.add_column(letter(number), header_style="bold cyan")
    for name, cells in rows:
        table.add_row(Text(name, "dim"), *map(Text, cells))
    return table


def _differences(runs: Sequence[Glance]) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for number, run in enumerate(runs[1:], 1):
        for found in differences(run, runs[0]):
            table.add_row(Text(f"{letter(number)} - A", "bold cyan"), *_difference_words(found))
    note = Text("95 % intervals over goals; they do not tell what another seed would do", style="dim")
    return Group(Text("differences, goal by goal", "bold"), table, note)


def _difference_words(found: Difference) -> Iterator[Text]:
    if found.mean is None or found.half is None:
        yield Text("-")
        yield Text(safe(found.why), "yellow")
        return
    sure = abs(found.mean) > found.half
    style = ("green" if found.mean > 0 else "red") if sure else ""
    yield Text(f"{found.mean:+.3f} ± {found.half:.3f}", style)
    both = f"at version {found.version}"
    unlike = f"version {found.version} of the one, {found.reference_version} of the other"
    yield Text(f"{both if found.version == found.reference_version else unlike}, {found.goals} goals")


def _last(run: Glance) -> str:
    return "-" if run.last is None else f"{score(run, run.last)} at {run.last}"


def _word(value: Any) -> str:
    words = ",".join(map(str, value)) if isinstance(value, list) else "-" if value is None else str(value)
    plain_words = safe(words[: 10 * _SHOWN])
    return plain_words if len(plain_words) <= _SHOWN else f"{plain_words[: _SHOWN - 1]}…"


def letter(number: int) -> str:
    """A, B, ... Z, AA, AB, ..."""
    if number < len(ascii_uppercase):
        return ascii_uppercase[number]
    return letter(number // len(ascii_uppercase) - 1) + ascii_uppercase[number % len(ascii_uppercase)]
