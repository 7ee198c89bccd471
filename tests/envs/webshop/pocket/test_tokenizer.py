import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerFast

from aes.types import Message
from envs.webshop.agent.view import View
from envs.webshop.catalog.catalog import Catalog
from envs.webshop.pocket.tokenizer import PHRASES, build_tokenizer

TOKENIZER = build_tokenizer()


def ids(messages: list[Message], *, prompt: bool) -> list[int]:
    text = TOKENIZER.apply_chat_template(
        [{"role": m["role"], "content": m["content"]} for m in messages], add_generation_prompt=prompt, tokenize=False
    )
    assert isinstance(text, str)
    return list(TOKENIZER.encode(text, add_special_tokens=False))


@settings(max_examples=100, deadline=None)
@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=40))
def test_any_text_round_trips_in_lower_case(text: str) -> None:
    lowered = TOKENIZER.backend_tokenizer.normalizer.normalize_str(text)
    assert TOKENIZER.decode(TOKENIZER.encode(text, add_special_tokens=False)) == lowered


def test_a_word_is_the_same_token_in_the_goal_and_in_the_action() -> None:
    goal, action = TOKENIZER.tokenize("with color: red, and"), TOKENIZER.tokenize("click[ red]")
    assert set(goal) & set(action) == {"Ġred"}
    listing, click = TOKENIZER.tokenize("\n- B0KAMU2741 | x"), TOKENIZER.tokenize("click[ b0kamu2741]")
    assert listing[1:4] == click[1:4]


@pytest.mark.parametrize("phrase", PHRASES)
def test_fixed_phrases_are_single_tokens(phrase: str) -> None:
    assert len(TOKENIZER.encode(phrase, add_special_tokens=False)) == 1


def test_generated_goals_need_few_tokens() -> None:
    catalog = Catalog.generate(200, seed=5)
    longest = max(len(TOKENIZER.encode(View().first(goal))) for goal in catalog.goals("synthetic", "all")[:200])
    assert longest <= 45


def test_a_growing_conversation_is_only_ever_appended_to() -> None:
    messages: list[Message] = [{"role": "system", "content": "left out"}]
    before: list[int] = []
    for page, reply in [("Goal: Find me red tea", "quick search[ tea]"), ("Page 1", "click[ b0kamu2741]")]:
        messages.append({"role": "user", "content": page})
        prompt = ids(messages, prompt=True)
        assert prompt[: len(before)] == before
        said = TOKENIZER.encode(reply, add_special_tokens=False)
        messages.append({"role": "assistant", "content": reply})
        before = ids(messages, prompt=False)
        assert before == [*prompt, *said, TOKENIZER.eos_token_id]


def test_the_vocabulary_is_the_same_every_time() -> None:
    again: PreTrainedTokenizerFast = build_tokenizer()
    assert again.get_vocab() == TOKENIZER.get_vocab()
