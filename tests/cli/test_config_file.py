"""`aes config`: the file it prints makes the settings it was printed from."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.config_file import document
from cli.flags import PANELS
from cli.settings import PRESETS, TrainSettings, resolve
from tests.cli.conftest import Aes

KINDS: dict[str, dict[str, Any]] = {
    "pocket policy": {"model": "pocket"},
    "other models": {"model": "some/model"},
    "fake engine": {"engine": "fake"},
}


def again(given: dict[str, Any]) -> tuple[TrainSettings, TrainSettings, str]:
    """Settings, what their document makes, and the document."""
    made, complaints = resolve(given)
    assert not complaints
    text = document(made, given)
    parsed, complaints = resolve(tomllib.loads(text))
    assert not complaints
    return made, parsed, text


@pytest.mark.parametrize("kind", PRESETS)
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"max_lag": 4, "stale_frac": 1.0, "eval_goals": 7, "sigma": 1e-7},
        {
            "prompt": "react",
            "in_flight": 3,
            "alpha": 2.5,
            "layers": "-1,0",
            "targets": "q_proj",
            "run_dir": Path("a b"),
        },
        {"estimator": "zscore", "on_stale": "drop", "eager": False, "tensorboard": True, "episode_seconds": 0.0},
    ],
)
def test_a_document_makes_the_same_settings(kind: str, more: dict[str, Any]) -> None:
    made, parsed, _ = again(KINDS[kind] | more)
    assert made.kind == kind
    assert parsed == made


@settings(max_examples=60)
@given(
    model=st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=20), sigma=st.floats(1e-300, 1e300)
)
def test_any_name_and_number(model: str, sigma: float) -> None:
    _, parsed, _ = again({"model": f"m{model}", "sigma": sigma})
    assert (parsed.model, parsed.sigma) == (f"m{model}", sigma)


@pytest.mark.parametrize("kind", PRESETS)
def test_every_key_is_explained(kind: str) -> None:
    _, _, text = again(KINDS[kind])
    assert max(map(len, text.splitlines())) <= 100
    blocks = [block.splitlines() for block in text.split("\n\n")[1:] if not block.startswith("# ----")]
    named = [block[-1].removeprefix("# ").partition(" =")[0] for block in blocks]
    assert named == [name for names in PANELS.values() for name in names.split()]
    assert set(named) == set(TrainSettings.model_fields)
    for block, name in zip(blocks, named, strict=True):
        assert str(TrainSettings.model_fields[name].description).split()[0] in block[0]
    assert "# One of wait, drop. Default: wait.\non_stale" in text
    assert "# A number, above 0. Default: pocket policy 1.0, other models 0.01, fake engine 1.0.\nsigma" in text


def test_what_is_fitted_to_the_data_is_set_only_if_given() -> None:
    assert "\n# eval_goals = 300" in again({})[2]
    assert "\neval_goals = 300" in again({"eval_goals": 300})[2]


def test_the_command_prints_what_train_takes(aes: Aes, tmp_path: Path) -> None:
    flags = ("--engine", "fake", "--products", 60, "--pairs", 3)
    code, out, err = aes("config", *flags, "--updates", 1)
    assert (code, err) == (0, "")
    (tmp_path / "a.toml").write_text(out)
    assert aes("config", "--config", "a.toml").out == out
    assert "\npairs = 5\n" in aes("config", "--config", "a.toml", "--pairs", 5).out
    assert aes("config", "--check", "a.toml").out == (
        "a.toml will do: fake engine, natural, lag <= 1, stragglers: wait, 1 updates, fake on cpu\n"
    )
    assert aes("train", "--config", "a.toml", "--goals", 2, "--run-dir", "run").code == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pears = 3", "did you mean 'pairs'?"),
        ("pairs = 1", "a.toml: pairs = 1: Input should be greater than or equal to 2"),
        ("stale_frac = 0.5", "a.toml: --stale-frac 0.5 with no --max-lag"),
        ('devices = ["cpu:7777"]', "a.toml: --devices cpu:7777: this machine has no such device"),
        ("pairs = ", "not TOML"),
    ],
)
def test_a_file_that_will_not_do(text: str, said: str, refused: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(text)
    assert said in refused("config", "--check", "a.toml")


def test_settings_that_will_not_do_are_not_printed(refused: Callable[..., str]) -> None:
    assert "no LoRA kernel above rank 512" in refused("config", "--rank", 900)
    assert "not text that a TOML file can hold" in refused("config", "--model", "a\udc80")
