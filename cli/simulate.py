"""`aes simulate`: the same run, synchronous and asynchronous, at many sizes in virtual time, as one table."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from aes.config import Config
from aes.errors import ConfigError
from aes.simulation.lengths import Lognormal, recorded
from aes.simulation.objective import OBJECTIVES, Objective
from aes.simulation.presets import speed_of
from aes.simulation.simulate import Outcome, Spec, simulate
from cli import flags
from cli.flags import N
from cli.view.terminal import unclipped

_STEPS = {"sigma": 0.1, "lr": 0.3}
"""What the objectives are climbed well with."""


@dataclass(frozen=True)
class Sizes:
    """What is varied: every combination is simulated. `pairs` None: as many as fill all slots once."""

    devices: tuple[int, ...]
    slots: tuple[int, ...]
    spreads: tuple[float, ...]
    lags: tuple[int, ...]
    pairs: int | None


class Row(NamedTuple):
    """A size at one bound on the lag, with the synchronous run of the same size beside it."""

    spec: Spec
    sync: Outcome
    outcome: Outcome

    @property
    def speed_up(self) -> float:
        """Wall time of the synchronous run over that of the asynchronous one."""
        return self.sync.seconds / self.outcome.seconds


def run(base: Spec, lengths: Lognormal, sizes: Sizes, to: Path | None) -> None:
    """Simulate all sizes, print the table, and write it to a file. Raises ConfigError."""
    if to is not None and not to.parent.is_dir():
        raise ConfigError(f"--json {to}: there is no folder {to.parent} (make it first)")
    if to is not None and to.is_dir():
        raise ConfigError(f"--json {to}: is a folder (name a file in it)")
    if sizes.lags == (0,):
        raise ConfigError("--max-lag 0: that is the synchronous run itself (name a larger one to compare it with)")
    console = unclipped(Console())
    rows = []
    with console.status("simulating") as status:
        for row in _rows(base, lengths, sizes):
            rows.append(row)
            status.update(f"simulating: {len(rows)} of {_count(sizes)} rows")
    console.print(_table(rows, _title(base, lengths)))
    if to is not None:
        _write(to, rows)


def lengths_of(
    run_folder: Path | None, turns: float, tokens: float, prompt: int, max_turns: int
) -> tuple[Lognormal, tuple[float, ...]]:
    """Lengths as given, or as a run has recorded them, and the spreads to try. Raises ConfigError, DataError."""
    if run_folder is None:
        return Lognormal(turns, tokens, 0.0, prompt, max_turns), (0.0, 0.5, 1.0)
    lengths = recorded(run_folder, prompt, max_turns)
    return lengths, (lengths.spread,)


def base(
    lengths: Lognormal,
    settings: dict[str, Any],
    curve: str,
    sequences: int,
    driver_us: float,
    objective: str,
    *,
    by_turn: bool,
) -> Spec:
    """What all sizes have in common. Raises ConfigError."""
    return Spec(
        config=Config.parse(_STEPS | settings),
        lengths=lengths,
        speed=speed_of(curve),
        sequences=sequences,
        driver=driver_us * 1e-6,
        objective=Objective(ripples=OBJECTIVES[objective]),
        by_turn=by_turn,
    )


def numbers(flag: str, text: str, kind: type[N], least: N) -> tuple[N, ...]:
    """The distinct values of a flag, as in 1,4,8, in their order. Raises ConfigError."""
    values = flags.numbers(flag, text, kind)
    if not all(value >= least for value in values):
        raise ConfigError(f"{flag} {text}: no less than {least} (raise it)")
    return values


def _rows(base: Spec, lengths: Lognormal, sizes: Sizes) -> Iterator[Row]:
    for devices, slots, spread in product(sizes.devices, sizes.slots, sizes.spreads):
        pairs = sizes.pairs or max(2, devices * slots // 2)
        config = base.config.model_copy(update={"pairs": pairs, "max_lag": 0})
        spec = replace(base, devices=devices, slots=slots, config=config, lengths=replace(lengths, spread=spread))
        sync = simulate(spec)
        for lag in sizes.lags:
            if lag:
                late = replace(spec, config=config.model_copy(update={"max_lag": lag}))
                yield Row(late, sync, simulate(late))


def _count(sizes: Sizes) -> int:
    return len(sizes.devices) * len(sizes.slots) * len(sizes.spreads) * sum(lag > 0 for lag in sizes.lags)


def _title(base: Spec, lengths: Lognormal) -> str:
    config = base.config
    return (
        f"{config.updates} updates, {config.goals} goals a member, stragglers: {config.on_stale};"
        f" {lengths.turns:g} turns of {lengths.tokens:g} tokens on average"
    )


def _table(rows: Sequence[Row], title: str) -> Table:
    table = Table(title=title, title_justify="left", caption="a / b: synchronous / asynchronous")
    for name in _cells(rows[0]):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(*_cells(row).values())
    return table


def _cells(row: Row) -> dict[str, str]:
    spec, sync, outcome = row
    assert isinstance(spec.lengths, Lognormal)
    cells = {
        "devices": f"{spec.devices}",
        "in flight": f"{spec.devices * spec.slots}",
        "pairs": f"{spec.config.pairs}",
        "spread": f"{spec.lengths.spread:.2f}",
        "max lag": f"{spec.config.max_lag}",
        "wall s": f"{sync.seconds:.0f} / {outcome.seconds:.0f}",
        "speed-up": f"{row.speed_up:.2f}x",
        "players idle": f"{sync.players_idle:.0%} / {outcome.players_idle:.0%}",
        "capacity unused": f"{sync.unused:.0%} / {outcome.unused:.0%}",
        "mean lag": f"{outcome.mean_lag:.2f}",
        "stale": f"{outcome.stale:.0%}",
        "objective": f"{sync.end:.2f} / {outcome.end:.2f}",
    }
    if spec.config.on_stale == "drop":
        cells["discarded"] = f"{outcome.dropped} pairs, {outcome.discarded:.0f} s"
    return cells


def _write(to: Path, rows: Sequence[Row]) -> None:
    """All rows with everything they were made of, as JSON. Raises ConfigError."""
    told = [{**_told(row.spec), "sync": asdict(row.sync), "async": asdict(row.outcome)} for row in rows]
    try:
        to.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--json {to}: cannot be written ({error.strerror})") from None


def _told(spec: Spec) -> dict[str, Any]:
    return {"spec": asdict(spec) | {"config": spec.config.model_dump(mode="json")}}
