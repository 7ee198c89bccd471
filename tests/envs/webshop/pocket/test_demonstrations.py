from envs.webshop.catalog.catalog import Catalog
from envs.webshop.pocket.demonstrations import Temper, drills, examples
from envs.webshop.pocket.tokenizer import build_tokenizer

CATALOG, TOKENIZER = Catalog.generate(60, seed=0), build_tokenizer()


def test_only_the_shopper_is_imitated() -> None:
    for shown in examples(CATALOG, TOKENIZER, 5, 0, Temper()):
        said = TOKENIZER.decode([t for t, counted in zip(shown.tokens, shown.counted, strict=True) if counted])
        assert isinstance(said, str)
        assert said.count("search[") == 1
        assert said.endswith("click[ buy now]<|end|>")
        assert "page 1" not in said


def test_drills_count_no_thoughts() -> None:
    for shown in drills(CATALOG, TOKENIZER, 5, 0):
        said = TOKENIZER.decode([t for t, counted in zip(shown.tokens, shown.counted, strict=True) if counted])
        assert "careful" not in said
        assert "quick" not in said


def test_equal_seeds_show_the_same() -> None:
    assert list(drills(CATALOG, TOKENIZER, 3, 1)) == list(drills(CATALOG, TOKENIZER, 3, 1))
    assert list(drills(CATALOG, TOKENIZER, 3, 1)) != list(drills(CATALOG, TOKENIZER, 3, 2))


def test_the_temper_stays_within_its_odds_and_differs_by_kind() -> None:
    temper = Temper(low=-1.0, high=0.0)
    odds = {temper.odds(kind, "search") for kind in ("pillow", "tea", "jacket", "tripod")}
    assert len(odds) == 4
    assert all(0.26 < one < 0.51 for one in odds)
