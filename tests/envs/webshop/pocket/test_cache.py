from pathlib import Path

import pytest
from transformers import AutoModelForCausalLM, AutoTokenizer

from envs.webshop import pocket
from envs.webshop.catalog.catalog import Catalog

QUICK = pocket.Recipe(shown=16, layers=1, width=64, lessons=pocket.Lessons(steps=2, batch=4))


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog.generate(60, seed=0)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AES_CACHE", str(tmp_path))
    return tmp_path


def test_a_policy_is_made_once_and_loads_as_any_other(catalog: Catalog, cache: Path) -> None:
    told: list[str] = []
    folder = pocket.ensure(catalog, lambda what, _: told.append(what), QUICK)
    assert folder.parent == cache / "pocket"
    assert told
    told.clear()
    assert pocket.ensure(catalog, lambda what, _: told.append(what), QUICK) == folder
    assert not told
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder)
    assert model.config.vocab_size == len(tokenizer)
    assert model.config.eos_token_id == tokenizer.eos_token_id
    assert tokenizer.chat_template


def test_other_settings_and_other_catalogues_are_other_policies(catalog: Catalog) -> None:
    other = pocket.Recipe(shown=16, layers=1, width=64, lessons=pocket.Lessons(steps=3, batch=4))
    assert QUICK.fingerprint(catalog) != other.fingerprint(catalog)
    assert QUICK.fingerprint(catalog) != QUICK.fingerprint(Catalog.generate(60, seed=1))


def test_a_failure_leaves_nothing_behind(catalog: Catalog, cache: Path) -> None:
    def fail(what: str, part: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pocket.ensure(catalog, fail, QUICK)
    assert list((cache / "pocket").iterdir()) == []
