from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from envs.webshop.catalog.catalog import Catalog
from envs.webshop.reward.reward import score
from envs.webshop.reward.spacy_nouns import SpacyMissing, SpacyNouns
from tests.envs.webshop.reward.golden import goal_of


@pytest.fixture(scope="module")
def nouns() -> SpacyNouns:
    """The model of the extra."""
    pytest.importorskip("spacy")
    return SpacyNouns()


def test_its_name_tells_both_versions(nouns: SpacyNouns) -> None:
    spacy, model = nouns.name.split("/")
    assert spacy.startswith("spacy-3.")
    assert model.startswith("en_core_web_sm-3.")


def test_nouns_are_lower_case_and_repeated(nouns: SpacyNouns) -> None:
    assert nouns("Red shoes for the SHOES") == ("shoes", "shoes")
    assert nouns("") == ()


def test_a_missing_model_is_named_with_its_cure() -> None:
    pytest.importorskip("spacy")
    with pytest.raises(SpacyMissing, match=r"'xx_nothing' cannot be loaded; pip install 'aes-runtime\[spacy\]'"):
        SpacyNouns("xx_nothing")


def test_a_missing_library_is_named_with_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(SpacyMissing, match=r"SpacyNouns needs spaCy; pip install 'aes-runtime\[spacy\]'"):
        SpacyNouns()


def test_golden_nouns(real_catalog: Catalog, golden: Callable[[str], Any], nouns: SpacyNouns) -> None:
    expected = golden("spacy_nouns_1000")["nouns"]
    assert len(expected) == 1000
    # One in five: the model takes milliseconds a name.
    for asin in list(expected)[::5]:
        assert list(nouns(real_catalog.products[asin].name)) == expected[asin], asin


def test_golden_rewards(real_catalog: Catalog, golden: Callable[[str], Any], nouns: SpacyNouns) -> None:
    for row in golden("golden_reward"):
        product = replace(real_catalog.products[row["asin"]], price=row["price"])
        result = score(goal_of(row["goal"]), product, row["options"], nouns)
        assert (result.total, result.parts, result.nouns) == (row["reward"], row["info"], nouns.name)
