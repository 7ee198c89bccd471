"""The pocket policy's tokenizer: whole words of the generated shop, and bytes for everything else.

Longest match over a fixed vocabulary (tokenizers' WordPiece without a continuation mark), so there is nothing to
train and any text round-trips in lower case. A word keeps its tokens wherever it stands after a space, which is what
makes copying from the goal into `search[ ...]` easy to learn.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from envs.webshop.agent.view import ITEM_ACTIONS, LAST_RESULT_ACTIONS, RESULT_ACTIONS, START_ACTIONS, SUBPAGE_ACTIONS
from envs.webshop.catalog.generate import ASIN_CODES
from envs.webshop.catalog.generate_words import BRANDS, DEPARTMENTS, OPTIONS

PAD, END, SHOP, SHOPPER = "<|pad|>", "<|end|>", "<|shop|>", "<|shopper|>"

# The shop's fixed phrases are single tokens: a page stays short for a model that is to play hundreds at once.
PHRASES = (
    *(START_ACTIONS, RESULT_ACTIONS, LAST_RESULT_ACTIONS, ITEM_ACTIONS, SUBPAGE_ACTIONS),
    *("Goal: Find me", "\n-", " | $"),
)
WORDS = (
    "quick careful goal find me with for and price lower than dollars page of results search chosen buy now back to"
    " next prev description features reviews attributes click actions an option value words product id nothing here by"
    " a invalid action can not thank you"
)

# One user turn per page. A system message is left out on purpose: the pocket policy knows only this one job.
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{% if message['role'] == 'user' %}" + SHOP + "{{ message['content'] }}"
    "{% elif message['role'] == 'assistant' %}" + SHOPPER + "{{ message['content'] }}" + END + "{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}" + SHOPPER + "{% endif %}"
)

# A word, number or asin with the space before it; a bracket belongs to the verb before it; anything else alone.
_PIECES = r" ?(?:search|click)\[| ?[\p{L}\p{N}]+(?:\.\d+)?|\s| ?[^\s\p{L}\p{N}]"


def build_tokenizer() -> PreTrainedTokenizerFast:
    """Return the tokenizer, ready to save: the same vocabulary in the same order every time."""
    bytes_of = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    pieces = [PAD, END, SHOP, SHOPPER, *sorted(pre_tokenizers.ByteLevel.alphabet()), *_words(bytes_of)]
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    model = models.WordPiece(vocabulary, unk_token=PAD, max_input_chars_per_word=1_000_000)
    model.continuing_subword_prefix = ""
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Lowercase()
    split = pre_tokenizers.Split(Regex(_PIECES), behavior="isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, bytes_of])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([PAD, END, SHOP, SHOPPER])
    tokenizer.add_tokens([AddedToken(phrase, normalized=True, special=False) for phrase in PHRASES])
    fast = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer, pad_token=PAD, eos_token=END
    )
    fast.chat_template = CHAT_TEMPLATE
    return fast


def _words(bytes_of: pre_tokenizers.ByteLevel) -> Iterable[str]:
    """Every piece of the vocabulary in the byte alphabet: words with and without the space before them."""
    named = [*BRANDS, WORDS, *OPTIONS, *itertools.chain.from_iterable(OPTIONS.values())]
    for department in DEPARTMENTS:
        named += [department.category, *department.adjectives, *department.contents, *department.purposes]
        named += [kind.query for kind in department.kinds]
    words = sorted({word for text in named for word in re.findall(r"[a-z]+", text.lower())})
    numbers = [str(number) for number in range(130)] + [f"{number:02d}" for number in range(10)]
    asins = [f"b0{code.lower()}" for code in ASIN_CODES]
    for word in [*words, *numbers, *asins, "search[", "click["]:
        for spaced in (word, " " + word):
            yield bytes_of.pre_tokenize_str(spaced)[0][0]
    yield from (bytes_of.pre_tokenize_str(piece)[0][0] for piece in (".0", ".00", ".5", ".99"))
