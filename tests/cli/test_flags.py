from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from aes.errors import ConfigError, DataError
from cli.commands.training import train
from cli.flags import PANELS, given, read_toml
from cli.settings import TrainSettings


def test_every_setting_is_a_flag_in_one_panel() -> None:
    named = [name for names in PANELS.values() for name in names.split()]
    assert sorted(named) == sorted(TrainSettings.model_fields)
    assert set(named) < set(inspect.signature(train).parameters)


def test_every_setting_is_described() -> None:
    assert all(field.description for field in TrainSettings.model_fields.values())


def test_flags_win_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text('pairs = 4\ngoals = 8\ntargets = ["q_proj"]\n')
    assert given({"pairs": 2, "lr": None}, file) == {"pairs": 2, "goals": 8, "targets": ["q_proj"]}


def test_a_key_that_is_no_flag_is_refused_with_the_nearest(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text("piars = 4\n")
    with pytest.raises(ConfigError, match="unknown key 'piars'; did you mean 'pairs'"):
        read_toml(file)


@pytest.mark.parametrize(("text", "said"), [("pairs = = 4", "line 1, column 9"), (None, "no such file")])
def test_a_broken_file_is_named_with_the_place(tmp_path: Path, text: str | None, said: str) -> None:
    file = tmp_path / "run.toml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(DataError, match=said):
        read_toml(file)
