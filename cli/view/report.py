"""What will run, in words and numbers: printed before every run, and all that `--dry-run` does."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from aes.protocols import Task
from cli import assemble, elsewhere
from cli.plan import Plan
from cli.settings import TrainSettings

Row = tuple[str, str]
_BYTES = {"float32": 4}


def headline(plan: Plan) -> RenderableType:
    """Model, catalogue, goals, engine, devices, schedule."""
    return Panel(table(_headline(plan)), title="[bold]aes[/] train", title_align="left", border_style="dim")


def dry_run(plan: Plan) -> RenderableType:
    """The headline, every number derived from the settings, and the settings themselves."""
    values = plan.settings.model_dump(mode="json")
    settings = [(name, "-" if value is None else _word(value)) for name, value in values.items()]
    half = -(-len(settings) // 2)
    columns = Table.grid(padding=(0, 3))
    columns.add_row(table(settings[:half]), table(settings[half:]))
    return Group(
        headline(plan),
        Panel(table(_derived(plan)), title="derived", title_align="left", border_style="dim"),
        Panel(columns, title="settings", title_align="left", border_style="dim"),
    )


def _headline(plan: Plan) -> Iterator[Row]:
    settings = plan.settings
    yield from ground(plan)
    config = settings.config
    yield "schedule", f"{config.schedule_name}; {config.updates} updates of {cohort(plan)} x {config.goals} goals"
    yield "step", f"{config.estimator}, sigma {config.sigma:g}, lr {config.lr:g}"
    yield "run folder", str(plan.folder)


def ground(plan: Plan) -> Iterator[Row]:
    """What a run stands on: model, catalogue, goals, prompt, engine."""
    settings = plan.settings
    yield "model", _model(plan)
    if plan.catalog is not None:
        source = str(settings.data) if settings.data else f"generated, seed {settings.catalog_seed}"
        yield "catalogue", f"{len(plan.catalog.products):,} products, {source}, hash {plan.catalog.fingerprint[:12]}"
        if skipped := plan.catalog.skipped:
            yield "left out", ", ".join(f"{count:,} x {reason}" for reason, count in skipped.items())
    if plan.task is not None:
        yield from _task(plan.task, settings)
    yield "engine", f"{settings.engine} on {', '.join(settings.devices)}"


def _task(task: Task, settings: TrainSettings) -> Iterator[Row]:
    """The goals, and what is WebShop's alone."""
    from envs.webshop.agent.task import WebShop

    goals = f"{len(task.train_goals):,} to train on, {settings.eval_goals:,} of {len(task.eval_goals):,} held out"
    if not isinstance(task, WebShop):
        yield "task", f"{task.name}, of {settings.task}"
        yield "goals", goals
        return
    yield "goals", f"{settings.goal_kind}: {goals} ({settings.eval_split})"
    turns, nouns = task.prompt.max_turns, task.fingerprint["nouns"]
    yield "prompt", f"{settings.prompt}, at most {turns} turns of {settings.max_tokens} tokens; nouns by {nouns}"


def _model(plan: Plan) -> str:
    settings, model = plan.settings, plan.model
    if settings.kind == "fake engine":
        return "linear policy of the fake engine"
    size = f", {model.parameters / 1e6:,.1f} M parameters" if model else ""
    if settings.kind != "pocket policy":
        return settings.model + size
    if model is None or plan.catalog is None:  # a complaint says why
        return "pocket policy"
    made = assemble.pocket_made(settings, plan.catalog)
    return f"pocket policy{size} ({'cached' if made else 'to be warm-started first: a minute or two'})"


def _derived(plan: Plan) -> Iterator[Row]:
    settings, config = plan.settings, plan.settings.config
    slots = plan.engine.slots if plan.engine else settings.slots * len(settings.devices)
    players = config.in_flight or slots
    yield "measurements per update", f"{config.per_update} ({cohort(plan)})"
    yield "capacity", f"{config.capacity} proposals out at once ({config.per_update} x {config.max_lag + 1})"
    yield "worst-case lag", f"{config.max_lag}, in updates"
    yield "players", f"{players} members in flight, {-(-players // len(settings.devices))} per engine at most"
    yield (
        "episodes",
        f"{config.episodes_per_update:,} per update, {config.episodes_per_update * config.updates:,} in all",
    )
    yield "evaluations", f"{_evaluations(plan)} of {config.eval_goals} goals"
    yield from _memory(plan)


def _memory(plan: Plan) -> Iterator[Row]:
    from aes.engine.vllm import RANKS, space_of
    from aes.errors import UsageError

    settings, model = plan.settings, plan.model
    if model is None:
        return
    try:
        space = space_of(model, settings.lora)
    except UsageError:
        return
    width = _BYTES.get(model.dtype if settings.dtype == "auto" else settings.dtype, 2)
    padded = next(rank for rank in RANKS if rank >= space.rank)
    adapter = sum(module.inputs + module.outputs for module in space.modules) * padded * width
    loaded = settings.slots + 1
    yield (
        "adapter",
        f"{space.dim:,} trained numbers; linear layers: {len(space.modules)}; rank {space.rank}, {space.factors}",
    )
    yield "adapters on a device", f"{loaded} x {_size(adapter)} = {_size(loaded * adapter)}, twice that in host memory"
    held = settings.max_lag + 2
    yield "ring of centres", f"{held} versions x {_size(space.dim * 4)} = {_size(held * space.dim * 4)} per engine"
    yield "base model", f"{_size(model.parameters * width)} per engine"
    if not (here := elsewhere.here(settings)):
        return  # servers have what they were started with
    room = (
        f"{settings.cache_gib} GiB" if here[0].startswith("cpu") else f"what {settings.gpu_share:.0%} of a GPU leaves"
    )
    yield (
        "KV cache",
        f"{room} per engine, conversations of {settings.context or min(model.context, 4096):,} tokens at most",
    )


def cohort(plan: Plan) -> str:
    """What is measured for one update."""
    config = plan.settings.config
    if len(config.signs) == 2:
        return f"{config.per_update} pairs of members"
    return f"{config.per_update} lone members"


def _evaluations(plan: Plan) -> int:
    config = plan.settings.config
    if config.eval_goals == 0:
        return 0
    return len({0, config.updates, *(range(0, config.updates, config.eval_every) if config.eval_every else ())})


def table(rows: Iterator[Row] | list[Row]) -> Table:
    """Names and values, side by side."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="cyan", no_wrap=True)
    grid.add_column()
    for name, value in rows:
        grid.add_row(name, Text(value))
    return grid


def _word(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _size(size: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{size:,.0f} {unit}" if size >= 100 or unit == "B" else f"{size:,.1f} {unit}"
