from __future__ import annotations

import pytest

from cli.assemble import open_nouns, open_task
from cli.settings import TrainSettings
from envs.webshop.catalog.catalog import Catalog
from envs.webshop.reward.nouns import RULE


def test_settings_make_the_task() -> None:
    catalog = Catalog.generate(60)
    task = open_task(TrainSettings(prompt="ragen", eval_split="dev"), catalog)
    assert (task.prompt.name, task.fingerprint["eval_split"], task.fingerprint["nouns"]) == ("ragen", "dev", RULE.name)
    assert open_task(TrainSettings(), catalog, "train").eval_goals == catalog.goals("synthetic", "train")


def test_nouns_are_found_by_rule_or_by_spacy() -> None:
    assert open_nouns(TrainSettings()) is RULE
    pytest.importorskip("spacy")
    found = open_nouns(TrainSettings(nouns="spacy"))
    assert found.name != RULE.name
    assert "shoes" in found("Acme Red Running Shoes")
