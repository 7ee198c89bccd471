"""Studies on the fake engine: every arm a run of its own, gone on with after any interruption, never mixed up."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from aes import ChatTask, Config, Run
from aes.engine.fake import FakeEngine
from aes.errors import ConfigError, DataError
from aes.journal import read
from aes.lock import Lock
from aes.past import Past
from aes.study import Arm, Grid, Plan, Study, Trial
from aes.study.study import seconds_of

SMALL = Config(pairs=2, goals=2, updates=18, eval_every=9, eval_goals=5, sigma=1.0, lr=1.0)
TIMELESS = Grid(natural=(), lags=(4,), fracs=(0.5, 1.0), seeds=2)


def study(shelf: ChatTask, folder: Path, config: Config = SMALL, grid: Grid = TIMELESS) -> Study:
    return Study(shelf, FakeEngine(slots=3), config, grid, folder)


def digests(folder: Path) -> dict[str, list[str]]:
    """Of every run of a study: the digest of each version it made."""
    return {
        str(run.parent.relative_to(folder)): [r["digest"] for r in read(run.parent) if r["event"] == "Updated"]
        for run in sorted(folder.glob("arms/*/*/journal.jsonl"))
    }


@pytest.fixture(scope="module")
def whole(shelf: ChatTask, virtual: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole study."""
    folder = tmp_path_factory.mktemp("study") / "whole"
    assert virtual(study(shelf, folder).run())
    return folder


def test_every_arm_is_an_ordinary_run(shelf: ChatTask, whole: Path) -> None:
    done = study(shelf, whole)
    assert len(done.trials) == 2 * (1 + 2 + 2)
    assert (done.left, [trial.seed for trial in done.trials]) == ((), [0] * 5 + [1] * 5)
    for trial in done.trials:
        past = Past.read(trial.folder(whole))
        assert past.finished
        assert past.evaluated == {0, 9, 18}
        assert Config.parse(past.about["config"]) == trial.arm.config(SMALL, trial.seed)
        assert seconds_of(trial.folder(whole)) == pytest.approx(past.seconds, abs=0.01)


def test_lags_are_those_of_the_arms(whole: Path) -> None:
    def lags(name: str) -> list[list[int]]:
        return [r["lags"] for r in read(whole / "arms" / name / "s1") if r["event"] == "Updated"]

    assert lags("sync") == [[0, 0]] * 18
    assert lags("lag-4-frac-0.5") == [[min(t, 4), 0] for t in range(18)]
    assert lags("all-stale-16") == [[min(t, 16)] * 2 for t in range(18)]
    assert lags("frozen-4") == [[t % 4] * 2 for t in range(18)]


def test_the_same_seed_twice_gives_the_same_digests(shelf: ChatTask, virtual: Any, whole: Path, tmp_path: Path) -> None:
    engine = FakeEngine(slots=5, latency=lambda member, length: 0.1 + member.seed % 7)
    assert virtual(Study(shelf, engine, SMALL, TIMELESS, tmp_path / "again").run())
    again = digests(tmp_path / "again")
    assert again == digests(whole)
    assert len({tuple(made) for made in again.values()}) == len(again)


def test_a_study_cut_anywhere_ends_the_same(shelf: ChatTask, virtual: Any, whole: Path, tmp_path: Path) -> None:
    for number, lines in enumerate((0, 1, 2, 60)):
        folder = tmp_path / str(number)
        shutil.copytree(whole, folder)
        for gone in ("frozen-4/s0", "sync/s1"):
            shutil.rmtree(folder / "arms" / gone)
        journal = folder / "arms" / "lag-4-frac-1" / "s0" / "journal.jsonl"
        journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:lines]) + b'{"event":"Jou')
        assert len(study(shelf, folder).left) == 3
        assert virtual(study(shelf, folder).run())
        assert digests(folder) == digests(whole)


def test_stopped_early_it_goes_on(shelf: ChatTask, virtual: Any, whole: Path, tmp_path: Path) -> None:
    seen: list[str] = []

    async def until_the_third(trial: Trial, run: Run) -> None:
        seen.append(trial.name)
        async for _ in run:
            if len(seen) == 3:
                return

    folder = tmp_path / "stopped"
    assert virtual(study(shelf, folder).run(until_the_third)) is False
    assert seen == ["sync/s0", "lag-4-frac-0.5/s0", "lag-4-frac-1/s0"]
    assert len(study(shelf, folder).left) == 8
    assert virtual(study(shelf, folder).run())
    assert digests(folder) == digests(whole)


def test_natural_arms_of_both_kinds_and_estimators_run_to_their_end(
    shelf: ChatTask, virtual: Any, tmp_path: Path
) -> None:
    grid = Grid(natural=(1,), lags=(), stress=False, estimators=("pairs", "zscore"), on_stale=("wait", "drop"), seeds=1)
    engine = FakeEngine(slots=6, latency=lambda member, length: 0.1 + member.seed % 7)
    assert virtual(Study(shelf, engine, SMALL, grid, tmp_path / "study").run())
    told = {name: len(list(run)) for name, run in digests(tmp_path / "study").items()}
    assert told == dict.fromkeys(told, 18)
    assert len(told) == 6


def test_a_study_grows_by_seeds_and_arms_alone(shelf: ChatTask, virtual: Any, whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "grown"
    shutil.copytree(whole, folder)
    grown = study(shelf, folder, grid=Grid(natural=(2,), lags=(), stress=False, seeds=3))
    assert len(grown.trials) == 3 * 6
    assert {trial.arm.name for trial in grown.left if trial.seed < 2} == {"natural-2"}
    assert virtual(grown.run())
    assert digests(folder).items() > digests(whole).items()
    assert study(shelf, folder).left == ()


def test_a_torn_end_is_no_end(whole: Path, tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    content = (whole / "arms" / "sync" / "s0" / "journal.jsonl").read_bytes()
    assert content.splitlines()[-1].startswith(b'{"event":"Finished"')
    for end, known in ((len(content), True), (len(content) - 1, False), (len(content) - 20, False)):
        journal.write_bytes(content[:end])
        assert (seconds_of(tmp_path) is not None) is known
    journal.write_bytes(b'{"event":"Finished","seconds":[]}\n')
    assert seconds_of(tmp_path) is None


class Other(NamedTuple):
    task: ChatTask
    engine: FakeEngine
    config: Config


def others(shelf: ChatTask) -> dict[str, Other]:
    catalog = ChatTask("shelf", shelf.make, shelf.train_goals, shelf.eval_goals, fingerprint={"catalog": "abc"})
    return {
        "its engine's dim was 256, here it is 17": Other(shelf, FakeEngine(dim=17), SMALL),
        "its task's catalog was None, here it is abc": Other(catalog, FakeEngine(), SMALL),
        "its pairs was 2, here it is 3 (leave it as it was, or": Other(
            shelf, FakeEngine(), SMALL.model_copy(update={"pairs": 3})
        ),
        "its seed was 0, here it is 1": Other(shelf, FakeEngine(), SMALL.model_copy(update={"seed": 1})),
    }


def test_another_study_in_the_folder_is_refused(shelf: ChatTask, whole: Path) -> None:
    before = (whole / "study.json").read_bytes()
    for said, other in others(shelf).items():
        with pytest.raises(DataError) as error:
            Study(*other, TIMELESS, whole)
        assert said in str(error.value)
    assert (whole / "study.json").read_bytes() == before


def test_a_run_of_other_settings_is_not_gone_on_with(
    shelf: ChatTask, virtual: Any, whole: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "mixed"
    shutil.copytree(whole, folder)
    shutil.rmtree(folder / "arms" / "sync" / "s0")
    shutil.copytree(folder / "arms" / "sync" / "s1", folder / "arms" / "sync" / "s0")
    journal = folder / "arms" / "sync" / "s0" / "journal.jsonl"
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:20]))
    with pytest.raises(DataError, match="its settings are not those of this study"):
        virtual(study(shelf, folder).run())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, r"no study\.json in it \(name a study's folder, or a new one\)"),
        ("{", "not a study of this version of aes"),
        ("[]", "not a study of this version of aes"),
        ('{"format": 2}', "not a study of this version of aes"),
    ],
)
def test_a_folder_that_is_no_study_is_left_alone(
    shelf: ChatTask, tmp_path: Path, content: str | None, said: str
) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    if content is not None:
        (tmp_path / "study.json").write_text(content)
    with pytest.raises(DataError, match=said):
        study(shelf, tmp_path)
    assert len(list(tmp_path.iterdir())) == 1 + (content is not None)


def test_a_file_is_no_folder(shelf: ChatTask, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"no study\.json"):
        study(shelf, tmp_path / "file")


def test_too_little_disk_is_said_before_anything_is_written(
    shelf: ChatTask, virtual: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: shutil._ntuple_diskusage(10**6, 10**6 - 5, 5))
    with pytest.raises(ConfigError, match=r"10 runs need about \d.* MiB, the disk has 0\.0 MiB free \(make room"):
        virtual(study(shelf, tmp_path / "study").run())
    assert not (tmp_path / "study").exists()


def test_the_rule_for_the_disk_is_about_right(shelf: ChatTask, whole: Path) -> None:
    runs = [trial.folder(whole) for trial in study(shelf, whole).trials]
    for run in runs:
        took = sum(file.stat().st_size for file in run.rglob("*"))
        assert took < study(shelf, whole).plan.bytes_per_run < 6 * took


def test_two_at_once_in_one_folder_are_one_too_many(shelf: ChatTask, virtual: Any, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    folder.mkdir()
    assert Plan.read(folder) is None
    begun = study(shelf, folder)
    lock = Lock(folder)
    with pytest.raises(ConfigError, match="another process is writing to it"):
        virtual(begun.run())
    lock.release()
    assert [file.name for file in folder.iterdir()] == ["lock"]
    assert study(shelf, folder).trials == begun.trials  # killed here, it could still be begun


def test_the_plan_is_written_whole_and_read_back(shelf: ChatTask, whole: Path) -> None:
    plan = Plan.read(whole)
    assert plan is not None
    assert plan == study(shelf, whole).plan
    assert plan.config == Arm("synchronous").config(SMALL, 0)
    assert json.loads((whole / "study.json").read_text())["task"] == {"name": "shelf"}
    assert not list(whole.glob("*.new"))
