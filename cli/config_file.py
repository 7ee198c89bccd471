"""`aes config`: every setting as a TOML file that explains itself, and whether such a file will do."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import annotated_types as limits
from pydantic.fields import FieldInfo
from rich.console import Console

from aes.errors import ConfigError
from cli.errors import Refused
from cli.flags import PANELS, default_words, plain_type, read_toml
from cli.plan import quick_checks
from cli.settings import LISTS, PRESETS, TrainSettings, resolve

_WIDTH = 100
_FITTED = {"eval_goals"}
"""What a run fits to its data unless it is given."""

_LIMITS = (
    (limits.Ge, "ge", "at least"),
    (limits.Gt, "gt", "above"),
    (limits.Le, "le", "at most"),
    (limits.Lt, "lt", "below"),
)


def show(given: dict[str, Any]) -> None:
    """Print the settings that come of what was given as a whole TOML file. Raises Refused."""
    settings, complaints = resolve(given)
    if complaints:
        raise Refused(complaints)
    print(document(settings, given), end="")


def check(file: Path) -> None:
    """Say that a file will do on this machine. Raises DataError, ConfigError; Refused with all that is wrong."""
    settings, complaints = resolve(read_toml(file))
    complaints += quick_checks(settings)
    if complaints:
        raise Refused(f"{file}: {complaint}" for complaint in complaints)
    config = settings.config
    Console().print(
        f"{file} will do: {settings.kind}, {config.schedule_name}, {config.updates} updates,"
        f" {settings.engine} on {', '.join(settings.devices)}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


def document(settings: TrainSettings, given: dict[str, Any]) -> str:
    """Every key with what it means, what it may be and its default; parsed again, it makes the same settings.

    What is not set, or is fitted to the data unless the user has given it, is there as a comment. Raises ConfigError
    for text that TOML cannot hold.
    """
    return "\n".join([*_heading(settings), *_keys(settings, given), ""])


def _heading(settings: TrainSettings) -> Iterator[str]:
    preset = ", ".join(PRESETS[settings.kind])
    yield from _comment("Settings of aes train; flags win over this file: aes train --config FILE --seed 1")
    yield from _comment('A key behind a "#" is not set (None).')
    yield from _comment(
        f"This file is for: {settings.kind}. What suits another model differs in: {preset}. Begin such a"
        " file anew: aes config --model NAME, or aes config --engine fake."
    )


def _keys(settings: TrainSettings, given: dict[str, Any]) -> Iterator[str]:
    for panel, names in PANELS.items():
        yield from ("", f"# ---- {panel} ".ljust(_WIDTH, "-"))
        for name in names.split():
            field, value = TrainSettings.model_fields[name], getattr(settings, name)
            yield ""
            yield from _comment(str(field.description))
            yield from _comment(" ".join(_allowed(name, field)))
            if value is None:
                yield f"# {name} ="
            elif name in _FITTED and name not in given:
                yield f"# {name} = {_toml(name, value)}"
            else:
                yield f"{name} = {_toml(name, value)}"


def _allowed(name: str, field: FieldInfo) -> Iterator[str]:
    """What it may be, and what it is where nothing is given."""
    kind = plain_type(field.annotation)
    bounds = [
        f"{words} {getattr(rule, key)}"
        for rule in field.metadata
        for sort, key, words in _LIMITS
        if isinstance(rule, sort)
    ]
    if get_origin(kind) is Literal:
        yield f"One of {', '.join(map(str, get_args(kind)))}."
    elif kind is bool:
        yield "True or false."
    elif name in LISTS:
        yield "A list."
    elif kind in (int, float):
        yield f"{'A whole number' if kind is int else 'A number'}{', ' if bounds else ''}{' and '.join(bounds)}."
    if words := default_words(name, field):
        yield f"Default: {words.lower() if kind is bool else words}."


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)


def _toml(name: str, value: Any) -> str:
    """A value in TOML. JSON's words are TOML's too, but for two characters. Raises ConfigError for what neither has."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(_toml(name, part) for part in value)}]"
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    text = json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ConfigError(f"{name} {str(value)!r}: not text that a TOML file can hold (give another name)") from None
    return text
