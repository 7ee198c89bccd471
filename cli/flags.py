"""Flags made of settings: one option for each field, so that help, TOML keys and checks cannot drift apart."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_origin

import typer
from pydantic.fields import FieldInfo

from aes.config import nearest
from aes.errors import ConfigError, DataError
from cli.settings import LISTS, PRESETS, TrainSettings

N = TypeVar("N", int, float)

PANELS = {
    "Search": "updates pairs goals estimator sigma sigma_floor lr momentum decay seed",
    "Staleness": "max_lag stale_frac frozen on_stale in_flight",
    "Adapters": "rank alpha targets layers factors basis",
    "Engine": "engine model devices slots context dtype sequences cache_gib gpu_share eager engine_seconds restarts"
    " token_file",
    "Task": "task data products catalog_seed goal_kind prompt nouns temperature max_tokens",
    "Failures": "retries episode_seconds min_good max_failures",
    "Output": "run_dir tensorboard eval_every eval_goals eval_split eval_concurrency",
}
"""The help's panels and the fields in them."""


def with_flags(command: Callable[..., None], without: Collection[str] = ()) -> Callable[..., None]:
    """Give a command that takes `**given` an option for every field but some; what is not given arrives as None."""
    own = [p for p in inspect.signature(command).parameters.values() if p.kind is not p.VAR_KEYWORD]
    hints = typing.get_type_hints(command, include_extras=True)
    own = [p.replace(annotation=hints[p.name], kind=p.KEYWORD_ONLY) for p in own]
    made = [_option(name, panel) for panel, names in PANELS.items() for name in names.split()]
    made = [option for option in made if option.name not in without]
    command.__signature__ = inspect.Signature([*made, *own])  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in [*made, *own]}
    return command


def given(flags: dict[str, Any], file: Path | None) -> dict[str, Any]:
    """What the user gave: flags over the TOML file. Raises DataError, ConfigError for an unknown key."""
    return (read_toml(file) if file else {}) | {key: value for key, value in flags.items() if value is not None}


def read_toml(file: Path) -> dict[str, Any]:
    """The settings in a TOML file, keys as flags with underscores. Raises DataError, ConfigError."""
    import tomllib

    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"--config {file}: no such file (check the path)") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"--config {file}: cannot be read ({error})") from None
    except (ValueError, RecursionError) as error:  # numbers of thousands of digits, thousands of brackets
        raise DataError(f"--config {file}: not TOML: {error}") from None
    known = TrainSettings.model_fields
    if unknown := [f"{key!r}{nearest(key, known)}" for key in values if key not in known]:
        raise ConfigError(f"--config {file}: unknown key {' and '.join(unknown)} (keys are flags with underscores)")
    return values


def numbers(flag: str, text: str, kind: type[N]) -> tuple[N, ...]:
    """The distinct values of a flag, as in 1,2,4, in their order. Raises ConfigError."""
    try:
        return tuple(dict.fromkeys(kind(part) for part in text.split(",")))
    except ValueError:
        what = "whole numbers" if kind is int else "numbers"
        raise ConfigError(f"{flag} {text}: not {what} with commas between (as in 1,2,4)") from None


def _option(name: str, panel: str) -> inspect.Parameter:
    field = TrainSettings.model_fields[name]
    flag = f"--{name.replace('_', '-')}"
    kind, words = str if name in LISTS else plain_type(field.annotation), default_words(name, field)
    option = typer.Option(
        f"{flag}/--no-{flag[2:]}" if kind is bool else flag,
        help=f"{field.description}" + (f" (default: {words})" if words else ""),
        rich_help_panel=panel,
        show_default=False,
        metavar="A,B" if name in LISTS else None,
    )
    annotation = Annotated[kind | None, option]  # type: ignore[valid-type]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=None)


def plain_type(annotation: Any) -> Any:
    """The type without its None."""
    if get_origin(annotation) in (types.UnionType, typing.Union):
        return next(part for part in get_args(annotation) if part is not type(None))
    return annotation


def default_words(name: str, field: FieldInfo) -> str:
    """The default in words; where presets differ, each one's."""
    if name in ("model", "devices"):
        return "by machine"
    words = [f"{kind} {_word(preset[name])}" for kind, preset in PRESETS.items() if name in preset]
    if len(words) < len(PRESETS) and field.default is not None:
        words.append(f"else {_word(field.default)}" if words else _word(field.default))
    return ", ".join(words)


def _word(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
