"""Whole games, typed ahead."""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from aes.errors import DataError
from cli.shop.play import Game
from envs.webshop import Catalog
from tests.cli.conftest import Aes

Play = Callable[..., str]
UNFIT = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


@pytest.fixture
def play(aes: Aes, monkeypatch: pytest.MonkeyPatch) -> Play:
    """Run `aes play` on these lines, expect a clean end, and return what it printed."""

    def run(lines: str | bytes, *flags: object) -> str:
        content = lines if isinstance(lines, bytes) else lines.encode(errors="surrogatepass")
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content), encoding="utf-8"))
        outcome = aes("play", *(flags or ("--products", 40, "--goal", 0)))
        assert (outcome.code, outcome.err) == (0, "")
        assert not UNFIT.findall(outcome.out)
        return outcome.out

    return run


def write(folder: Path, *products: dict[str, Any]) -> Path:
    """Write a catalogue with a goal for each of these products."""
    items, attributes = [], {}
    for at, product in enumerate(products):
        asin = f"B00000000{at}"
        item: dict[str, Any] = {"asin": asin, "name": "Shoes", "query": "shoes", "product_category": "A \u203a B"}
        item |= {"category": "a", "full_description": "", "small_description": [], "pricing": "$20.00", "images": [""]}
        items.append(item | {"customization_options": {}} | product)
        attributes[asin] = {"attributes": ["red"], "instruction": "Find me", "instruction_attributes": ["red"]}
    (folder / "items_shuffle_1000.json").write_text(json.dumps(items))
    (folder / "items_ins_v2_1000.json").write_text(json.dumps(attributes))
    return folder


def test_a_goal_is_shown_found_chosen_and_bought(play: Play, tmp_path: Path) -> None:
    write(tmp_path, {"name": "Red Shoes", "customization_options": {"Size": [{"value": "S"}, {"value": "L"}]}})
    out = play("red shoes\n1\n2\ny\n", "--data", tmp_path, "--split", "all", "--goal", 1)
    pages = out.split("Goal 1 of all goals")
    assert len(pages) == 6
    assert all("Find me with size:" in page for page in pages[1:])
    assert '"red shoes": 1 found, page 1 of 1' in pages[2]
    assert re.search(r"\n +1 +Red Shoes +\$20\.0 ", pages[2])
    assert "size: choose one\n" in pages[3]
    assert re.search(r" 1 s +\*2 l", pages[4])
    assert "You bought: Red Shoes ($20.0; size: l)" in pages[5]


def test_the_last_page_explains_the_score(play: Play, tmp_path: Path) -> None:
    write(tmp_path, {"name": "Red Shoes", "customization_options": {"Size": [{"value": "S"}, {"value": "L"}]}})
    perfect = {play(f"x\nshoes\n1\n{at}\ny\n", "--data", tmp_path, "--split", "all", "--goal", 0) for at in (1, 2)}
    assert sum("Your score: 1.00 of 1.00, all that was asked for." in out for out in perfect) == 1
    out = play("shoes\n1\ny\n", "--data", tmp_path, "--split", "all", "--goal", 0)
    assert re.search(r"attributes .* 1 of 1 +0\.33 of 0\.33", out)
    assert re.search(r"options .* 0 of 1 +0\.00 of 0\.33", out)
    assert re.search(r"price .* yes +0\.33 of 0\.33", out)
    assert re.search(r"right kind .* x 1\.00", out)
    assert "Your score: 0.67 of 1.00, not all that was asked for." in out
    assert "the same query, a like category; 100% of the title's nouns" in out


def test_after_a_purchase_comes_the_next_goal(play: Play) -> None:
    out = play("<r>\n1\ny\nwhat?\nn\n", "--products", 40, "--split", "test", "--goal", 1)
    assert "this goal is done; n for the next one" in out
    assert out.index("Goal 1 of the test split") < out.index("Your score") < out.index("Goal 2 of the test split")


def test_the_last_goal_is_followed_by_the_first(play: Play, tmp_path: Path) -> None:
    write(tmp_path, {}, {})
    out = play("shoes\n1\ny\nn\n", "--data", tmp_path, "--split", "all", "--goal", 1)
    assert out.index("Goal 1 of all") < out.index("Goal 0 of all")


def test_a_seed_draws_the_same_goals(play: Play) -> None:
    lines = "<r>\n1\ny\nn\n" * 4
    games = [play(lines, "--products", 40, "--seed", seed) for seed in (5, 5, 6)]
    drawn = [re.findall(r"Goal (\d+) of", game) for game in games]
    assert drawn[0] == drawn[1] != drawn[2]


def test_pages_of_results_and_sub_pages(play: Play, tmp_path: Path) -> None:
    products: list[dict[str, Any]] = [{"name": f"Shoes {at}", "small_description": ["Soft", "Warm"]} for at in range(9)]
    write(tmp_path, *products, {"full_description": "Two\nlines", "name": "Last"})
    flags = ("--data", tmp_path, "--goal", 0)
    out = play("<q> shoes\nn\n10\nd\np\nr\np\np\nb\n9 shoes\n", *flags)
    assert "10 found, page 1 of 1" in out
    assert "n does nothing on this page" in out
    assert "Description ─" in out
    assert "│ Two " in out
    assert "│ lines " in out
    assert "nothing here" in out
    assert "│ - Soft " in play("shoes 3\n1\nf\n", *flags)


def test_what_cannot_be_done_is_said_and_the_game_goes_on(play: Play) -> None:
    out = play("7\nclick[add to cart]\nclick[\nzzzz\ny\nsearch[<r>]\n99\n1\n")
    assert "no number 7 on this page, nothing is numbered" in out
    assert "no button 'add to cart' on this page" in out
    assert 'Nothing found for "zzzz".' in out
    assert "y does nothing on this page" in out
    assert "there are 1 to 10; to search for a number, write search[99]" in out
    assert "y buy now" in out


def test_help_and_quit(play: Play) -> None:
    assert "Enter " in play("?\n")
    assert "Nothing found" not in play("q\nzzzz\n")


@pytest.mark.parametrize("lines", ["", "\n", "<r>", "<r>\n1", "<r>\n1\ny"])
def test_the_input_may_end_anywhere(play: Play, lines: str) -> None:
    assert play(lines).rstrip().endswith("q quit")


def test_a_pipe_gets_no_prompt_and_no_colour(play: Play) -> None:
    assert "> " not in play("<r>\n1\nd\n")


def test_no_byte_ends_the_game(play: Play) -> None:
    out = play(b"\xff\xfe shoes \x00\x1b[2J\n\xed\xa0\x80\n" + bytes(range(256)) + b"\n\xe2\x80\xae txet\nzzzz")
    assert 'Nothing found for "zzzz"' in out


def test_a_full_disk_is_said(aes: Aes, monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        code, _, err = aes("play", "--products", 40)
        monkeypatch.undo()
        with contextlib.suppress(OSError):
            full.close()
    assert (code, err) == (
        1,
        "aes: the pages cannot be written: No space left on device (a full disk, or a terminal that is gone)\n",
    )


def test_a_line_of_any_length(play: Play) -> None:
    out = play("shoes " * 500_000 + "\nzzzz\n" + "x" * 3_000_000)
    assert out.count("that line is too long; write at most 1,000 characters") == 2
    assert 'Nothing found for "zzzz"' in out


_MARKS = "\u0336" * 50
HOSTILE = (
    "\x1b[2J\x1b]0;owned\x07 [bold red]markup[/] [link=x]y[/link] [/] :bomb: \u202egnp\u202c \u2066\ud800\x9b31m\r\x08"
    f"{_MARKS}\t\x0b\x85\u2028 {{curly}} %s \\n"
)


def test_hostile_texts_only_show(play: Play, tmp_path: Path) -> None:
    options = {HOSTILE: [{"value": HOSTILE}, {"value": f"{HOSTILE} two"}], "b" + HOSTILE: [{"value": HOSTILE}]}
    texts = dict.fromkeys(("name", "full_description", "category", "query", "product_category"), HOSTILE)
    lists = {"small_description": [HOSTILE, "b"], "customization_options": options}
    write(tmp_path, {**texts, **lists, "query": "shoes"})
    attributes = tmp_path / "items_ins_v2_1000.json"
    asked = {"attributes": [HOSTILE], "instruction": HOSTILE, "instruction_attributes": [HOSTILE]}
    attributes.write_text(json.dumps({"B000000000": asked}))
    out = play(
        f"{HOSTILE}\n<q> shoes\n1\n1\n2\n3\nd\np\nf\np\nclick[\x1b[2J]\ny\n", "--data", tmp_path, "--split", "all"
    )
    assert "[bold red]markup[/]" in out
    assert ":bomb:" in out
    assert "Your score" in out


def test_an_error_that_quotes_a_hostile_file_only_shows(refused: Callable[..., str], tmp_path: Path) -> None:
    asin = "B\x1b[2J\u202e"
    write(tmp_path, {"asin": asin})
    (tmp_path / "items_ins_v2_1000.json").write_text(json.dumps({asin: 3}))
    said = refused("play", "--data", tmp_path)
    assert "asin B[2J: must be an object" in said
    assert not UNFIT.search(said)


_TEXTS = (
    st.text(max_size=20)
    | st.text("\x1b[]:0;m ab\n\u202e/\\{}'\"1", max_size=20)
    | st.sampled_from(["buy now", "< prev"])
)
_RECORDS = st.fixed_dictionaries(
    dict.fromkeys(("name", "category", "query", "product_category", "full_description"), _TEXTS)
    | {
        "asin": st.text(min_size=1, max_size=10),
        "small_description": _TEXTS | st.lists(_TEXTS, max_size=4),
        "pricing": st.sampled_from(["", "$1", "$1.00 - $1,000.5"]),
        "customization_options": st.dictionaries(
            _TEXTS, st.lists(_TEXTS.map(lambda value: {"value": value}), max_size=5), max_size=3
        ),
    }
)
_LINES = _TEXTS | st.sampled_from("npbdfry?") | st.integers(0, 12).map(str) | st.just("<r>")


@given(st.lists(_RECORDS, min_size=1, max_size=12), st.lists(_LINES, max_size=20), st.sampled_from([1, 3, 20, 60]))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_catalogue_and_any_lines(records: list[dict[str, Any]], lines: list[str], width: int) -> None:
    asked = {"attributes": ["red"], "instruction": "\x1b[1m", "instruction_attributes": ["red"]}
    try:
        catalog = Catalog.from_records(records, {record["asin"]: asked for record in records})
        console = Console(file=io.StringIO(), width=width, highlight=False)
        game = Game(console, catalog, "synthetic", "all", None, 0)
    except DataError:  # no record was usable, or none has a goal
        return
    for line in ["<r>", "1", *lines]:
        assert game._obey(line)
    assert isinstance(console.file, io.StringIO)
    assert not UNFIT.search(console.file.getvalue())
    assert max(map(cell_len, console.file.getvalue().splitlines())) <= max(width, 2)


@pytest.mark.parametrize("columns", [1, 20, 60, 200])
def test_any_width(play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    values = [{"value": f"value {at} " + "x" * (at % 70)} for at in range(200)]
    long = {"name": "Long " * 60, "pricing": "$1.00 - $2.00", "customization_options": {"Size": values}}
    write(tmp_path, long, {"name": "x" * 300, "full_description": "寸" * 300}, {"name": ""})
    out = play("<q> shoes\n1\n200\np\n2\nd\ny\np\n", "--data", tmp_path, "--split", "all", "--goal", 0)
    widths = [len(line) for line in out.splitlines()]
    assert max(widths) <= max(columns, 2)
    assert "*200 value" in out or columns < 20


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--goal", 10**6), "--goal 1000000: the test split has synthetic goals 0 to"),
        (("--goal", -1), "--goal"),
        (("--goal", "first"), "--goal"),
        (("--split", "tset"), "--split"),
        (("--goal-kind", "made"), "--goal-kind"),
        (("--goal-kind", "human"), "human"),
        (("--data", "nowhere"), "nowhere"),
        (("--products", 0), "--products"),
        (("--gaol", 3), "did you mean '--goal'"),
    ],
)
def test_flags_that_cannot_be(refused: Callable[..., str], flags: tuple[object, ...], said: str) -> None:
    assert said in refused("play", *(() if "--products" in flags else ("--products", 40)), *flags)
