from __future__ import annotations

from pathlib import Path

from envs.webshop.catalog.catalog import Catalog
from envs.webshop.pocket.cache import Recipe
from tests.cli.conftest import Aes


def test_a_policy_that_is_there_is_not_made_again(aes: Aes, tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "pocket" / Recipe().fingerprint(Catalog.generate(60, 3))
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    outcome = aes("warmstart", "--products", 60, "--catalog-seed", 3)
    assert outcome.code == 0
    assert outcome.out.splitlines()[-1] == str(folder)
