from __future__ import annotations

import typing

import pytest

from aes.config import Config, Lora
from cli import settings
from cli.settings import INSTRUCT, PRESETS, TrainSettings, resolve
from envs.webshop.agent.prompts import PROMPTS, PromptName


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "gpus", tuple)


def test_without_a_gpu_the_pocket_policy_is_trained_on_all_cores() -> None:
    found, complaints = resolve({})
    assert (found.model, found.devices, complaints) == ("pocket", ("cpu",), [])
    assert found.sigma == PRESETS["pocket policy"]["sigma"]


def test_with_gpus_an_instruct_model_is_trained_on_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "gpus", lambda: ("cuda:0", "cuda:1"))
    found, _ = resolve({})
    assert (found.model, found.devices) == (INSTRUCT, ("cuda:0", "cuda:1"))
    assert found.sigma == PRESETS["other models"]["sigma"]


def test_what_is_given_wins_over_the_preset() -> None:
    found, _ = resolve({"sigma": 0.25, "model": "some/model"})
    assert (found.sigma, found.lr) == (0.25, PRESETS["other models"]["lr"])


def test_lists_are_written_with_commas() -> None:
    found, _ = resolve({"targets": "q_proj, v_proj", "layers": "-1,0", "devices": "cpu:0"})
    assert (found.targets, found.layers, found.devices) == (("q_proj", "v_proj"), (-1, 0), ("cpu:0",))


def test_parts_hold_what_the_whole_holds() -> None:
    whole = TrainSettings(pairs=3, rank=4, max_lag=2)
    assert whole.config == Config(pairs=3, max_lag=2)
    assert whole.lora == Lora(rank=4)


def test_settings_survive_json() -> None:
    whole, _ = resolve({"data": "somewhere", "layers": "-1"})
    assert TrainSettings.parse(whole.model_dump(mode="json")) == whole


def test_every_complaint_is_gathered() -> None:
    _, complaints = resolve({"pairs": 1, "goals": 0, "stale_frac": 0.5, "on_stale": "drop", "rank": 600, "nois": 3})
    said = "\n".join(complaints)
    assert len(complaints) == 6
    for word in ("pairs = 1", "goals = 0", "--stale-frac 0.5", "--on-stale drop", "--rank 600", "'nois'"):
        assert word in said


def test_a_lag_makes_a_stale_share_welcome() -> None:
    found, complaints = resolve({"stale_frac": 1.0, "max_lag": 4})
    assert complaints == []
    assert found.config.schedule_name.startswith("controlled")


@pytest.mark.parametrize("lag", [{}, {"max_lag": 0}])
def test_a_stale_share_without_a_lag_is_refused(lag: dict[str, int]) -> None:
    _, complaints = resolve({"stale_frac": 0.0, **lag})
    assert len(complaints) == 1
    assert "add --max-lag" in complaints[0]


@pytest.mark.parametrize(
    "clash", [{"max_lag": 0}, {"max_lag": 3, "stale_frac": 0.5}, {"max_lag": 3, "on_stale": "drop"}]
)
def test_frozen_blocks_that_cannot_be_are_one_complaint(clash: dict[str, object]) -> None:
    _, complaints = resolve({"frozen": True, **clash})
    assert len(complaints) == 1
    assert "frozen" in complaints[0]


def test_every_prompt_can_be_named() -> None:
    field = TrainSettings.model_fields["prompt"]
    assert typing.get_args(field.annotation) == typing.get_args(PromptName) == tuple(PROMPTS)
    assert field.default == "aes"


@pytest.mark.parametrize(
    ("given", "tokens"),
    [
        ({"prompt": "verl-agent"}, 512),
        ({"prompt": "ragen"}, 400),
        ({"prompt": "react"}, PRESETS["other models"]["max_tokens"]),
        ({"prompt": "aes"}, PRESETS["other models"]["max_tokens"]),
        ({"prompt": "verl-agent", "max_tokens": 64}, 64),
    ],
)
def test_a_prompt_brings_its_longest_reply(given: dict[str, object], tokens: int) -> None:
    found, complaints = resolve({"model": "some/model", **given})
    assert (found.max_tokens, complaints) == (tokens, [])


def test_a_prompt_that_is_not_there_is_one_complaint() -> None:
    found, complaints = resolve({"prompt": "verl"})
    assert found.prompt == "aes"
    assert len(complaints) == 1
    assert "prompt = 'verl'" in complaints[0]
