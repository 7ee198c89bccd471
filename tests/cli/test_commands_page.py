"""docs/commands.md: every command is there with an example, and nothing that is not."""

from __future__ import annotations

import re
from pathlib import Path

import typer

from cli.aes_app import app

PAGE = (Path(__file__).parents[2] / "docs" / "commands.md").read_text()
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def sections() -> dict[str, str]:
    parts = re.split(r"^### aes (\S+)$", PAGE, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_every_command_is_on_the_page() -> None:
    assert set(sections()) == set(COMMANDS)


def test_every_command_has_an_example_that_can_be_typed() -> None:
    for name, text in sections().items():
        (block,) = re.findall(r"```bash\n(.*?)```", text, flags=re.DOTALL)
        known = {flag for param in COMMANDS[name].params for flag in (*param.opts, *param.secondary_opts)}
        for line in block.splitlines():
            assert line.split()[:2] == ["aes", name]
        used = set(re.findall(r"(?<![\w-])--[a-z-]+", text.split("```text")[0]))
        others = {"--install-completion", "--show-completion", "--logdir", "--config", "--devices"}
        assert used - known <= others, name
