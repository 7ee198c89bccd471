"""The command line: what `aes` starts. Commands stand in `cli/commands`, what they do beside that folder."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer
from typer.exceptions import TyperException

from aes.config import nearest
from aes.errors import AesError
from cli.commands import elsewhere, laboratory, machine, records, shopping, training
from cli.errors import Interrupted, exit_code, lines

app = typer.Typer(
    name="aes",
    help="Train LLM agents with asynchronous, bounded-staleness evolution strategies.",
    pretty_exceptions_enable=False,
    no_args_is_help=True,
)

for group in (training, records, laboratory, machine, shopping, elsewhere):
    app.add_typer(group.commands)

_QUIET = {
    "VLLM_LOGGING_LEVEL": "ERROR",
    "TRANSFORMERS_VERBOSITY": "error",
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
}
"""What makes noisy libraries quiet, unless the user has set it otherwise."""


@app.callback(invoke_without_command=True)
def aes(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
) -> None:
    """Train LLM agents with asynchronous, bounded-staleness evolution strategies."""
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"aes {installed('aes-runtime')}")
        raise typer.Exit


def main() -> None:
    """Run the command line; the only place that ends the process."""
    for key, value in _QUIET.items():
        os.environ.setdefault(key, value)
    try:
        code = app(prog_name="aes", standalone_mode=False) or 0
    except TyperException as error:
        print(f"aes: {_unusable(error)}", file=sys.stderr)
        code = error.exit_code
    except (AesError, Interrupted) as error:
        print("\n".join(lines(error)), file=sys.stderr)
        code = exit_code(error)
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    sys.exit(code)


def _unusable(error: TyperException) -> str:
    """What is wrong with the command line; for an unknown flag, the nearest known one and no other."""
    option = getattr(error, "option_name", None)
    known = getattr(error, "possibilities", None) or ()
    return f"no such flag: {option}{nearest(option, known)}" if option and known else error.format_message()
