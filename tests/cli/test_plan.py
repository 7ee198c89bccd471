from __future__ import annotations

from tests.cli.conftest import Aes

SMALL = ("--products", 60, "--eval-goals", 10)


def test_a_dry_run_tells_every_derived_number(aes: Aes) -> None:
    flags = ("--pairs", 8, "--goals", 4, "--updates", 10, "--max-lag", 3, "--devices", "cpu:0", "--slots", 6)
    code, out, err = aes("train", "--dry-run", *flags, *SMALL)
    words = " ".join(out.replace("│", " ").split())
    assert (code, err) == (0, "")
    for said in (
        "8 pairs of members",
        "32 proposals out at once",
        "worst-case lag 3",
        "6 members in flight, 6 per engine",
        "64 per update, 640 in all",
        "3 of 10 goals",
        "576 trained numbers",
        "5 versions x",
        "KV cache 2 GiB",
        "to be warm-started first",
        "60 products, generated, seed 0, hash",
    ):
        assert said in words


def test_a_dry_run_starts_nothing(aes: Aes, tmp_path: object) -> None:
    from pathlib import Path

    assert aes("train", "--dry-run", "--engine", "fake", *SMALL).code == 0
    assert list(Path(str(tmp_path)).iterdir()) == []


def test_a_dry_run_gathers_every_complaint(aes: Aes) -> None:
    flags = ("--stale-frac", 0.5, "--rank", 600, "--in-flight", 99, "--targets", "no_proj", "--devices", "cpu:999")
    code, out, err = aes("train", "--dry-run", *flags, "--products", 60, "--eval-goals", 9999)
    assert code == 2
    assert "derived" in out
    assert len(err.splitlines()) == 6
    for said in ("--stale-frac", "--rank", "--in-flight", "--devices cpu:999", "--eval-goals", "no_proj"):
        assert said in err


def test_goals_held_out_fit_a_small_catalogue_by_themselves(aes: Aes) -> None:
    assert aes("train", "--dry-run", "--engine", "fake", "--products", 20).code == 0
