"""The codec of a Hugging Face model: template, ids, ends."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aes import Message
from aes.engine.codec import ChatCodec
from aes.errors import DataError

MESSAGES: list[Message] = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"}]


@pytest.fixture(scope="module")
def codec(tiny_model: Path) -> ChatCodec:
    return ChatCodec.load(str(tiny_model))


def test_the_template_and_its_generation_prompt(codec: ChatCodec) -> None:
    assert codec.render(MESSAGES) == "user: hi</s>assistant: yes</s>assistant: "


def test_special_tokens_stand_only_where_the_text_spells_them(codec: ChatCodec) -> None:
    assert codec.encode("</s>") == [1]
    assert set(codec.encode("hi there")).isdisjoint({0, 1, 2})


def test_a_text_seen_before_has_the_same_ids_whatever_was_done_to_the_first(codec: ChatCodec) -> None:
    ids = codec.encode("once more")
    kept = list(ids)
    ids.append(1)
    assert codec.encode("once more") == kept


def test_end_tokens_are_left_out_of_a_reply(codec: ChatCodec) -> None:
    assert codec.end_ids == {1}
    assert codec.decode([*codec.encode("done"), 1]) == "done"


@pytest.mark.parametrize("text", ["a , b .", "don ' t", "  two  spaces ", "größer", "\n\n"])
def test_decoding_cleans_nothing_up(codec: ChatCodec, text: str) -> None:
    assert codec.decode(codec.encode(text)) == text


def test_any_text_goes_there_and_back(codec: ChatCodec) -> None:
    @given(st.text(st.characters(codec="utf-8", exclude_characters="<"), max_size=40))
    def check(text: str) -> None:
        assert codec.decode(codec.encode(text)) == text

    check()


def copy(model: Path, folder: Path) -> Path:
    return Path(shutil.copytree(model, folder / "model"))


@pytest.mark.parametrize(("declared", "ends"), [([1, 5], {1, 5}), (7, {1, 7}), (None, {1})])
def test_a_models_further_ends_count_too(
    tiny_model: Path, tmp_path: Path, declared: list[int] | int | None, ends: set[int]
) -> None:
    folder = copy(tiny_model, tmp_path)
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": declared}))
    assert ChatCodec.load(str(folder)).end_ids == ends


def test_a_model_without_a_template_gets_paragraphs(tiny_model: Path, tmp_path: Path) -> None:
    folder = copy(tiny_model, tmp_path)
    for file in folder.glob("*template*"):
        file.unlink()
    assert ChatCodec.load(str(folder)).render(MESSAGES) == "hi\n\nyes\n\n"


@pytest.mark.parametrize("text", [None, "not json", "{}"])
def test_a_folder_without_a_tokenizer_is_the_users_to_cure(tiny_model: Path, tmp_path: Path, text: str | None) -> None:
    folder = copy(tiny_model, tmp_path)
    for file in folder.glob("tokenizer*"):
        file.unlink()
        if text is not None:
            file.write_text(text)
    with pytest.raises(DataError, match=r"no usable tokenizer .* name another model") as error:
        ChatCodec.load(str(folder))
    assert "\n" not in str(error.value)
