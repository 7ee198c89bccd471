"""What is refused before anything starts."""

from __future__ import annotations

from typing import Any

import pytest

from aes import ChatTask, Run
from aes.engine.fake import FakeEngine
from aes.errors import ConfigError
from tests.aes.runs import config


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"in_flight": 17}, ["in_flight 17", "16 slots"]),
        ({"eval_goals": 41}, ["eval_goals 41", "holds out 40"]),
    ],
)
def test_settings_that_do_not_fit_are_refused(shelf: ChatTask, changes: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(ConfigError) as error:
        Run(shelf, FakeEngine(), config(**changes))
    assert all(word in str(error.value) for word in words)


def test_a_task_without_goals_is_refused(shelf: ChatTask) -> None:
    with pytest.raises(ConfigError, match="no training goals"):
        Run(ChatTask("none", shelf.make, (), ()), FakeEngine(), config(eval_goals=0))
