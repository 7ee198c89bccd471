"""How text becomes index terms: Lucene 8's English analyzer, as Anserini configures it.

Unicode word breaks (UAX #29), possessive 's off, lower case, stop words out, Porter stems.
"""

from __future__ import annotations

from functools import lru_cache

import regex

from envs.webshop.search.porter import stem

# fmt: off
STOP_WORDS = frozenset({
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not", "of",
    "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will", "with",
})
# fmt: on

_LONGEST = 255

# Unicode's Extended_Pictographic as it stood when Lucene's tokenizer was made; later versions of Unicode took
# symbols out, and every one of them that goes missing shifts document lengths and with them the order of results.
_PICTOGRAPH = (
    r"[\u00A9\u00AE\u203C\u2049\u2122\u2139\u2194-\u2199\u21A9\u21AA\u231A\u231B\u2328\u2388\u23CF\u23E9-\u23F3"
    r"\u23F8-\u23FA\u24C2\u25AA\u25AB\u25B6\u25C0\u25FB-\u25FE\u2600-\u2605\u2607-\u2612\u2614-\u2685\u2690-\u2705"
    r"\u2708-\u2712\u2714\u2716\u271D\u2721\u2728\u2733\u2734\u2744\u2747\u274C\u274E\u2753-\u2755\u2757"
    r"\u2763-\u2767\u2795-\u2797\u27A1\u27B0\u27BF\u2934\u2935\u2B05-\u2B07\u2B1B\u2B1C\u2B50\u2B55\u3030\u303D"
    r"\u3297\u3299\U0001F000-\U0001F0FF\U0001F10D-\U0001F10F\U0001F12F\U0001F16C-\U0001F171\U0001F17E\U0001F17F"
    r"\U0001F18E\U0001F191-\U0001F19A\U0001F1AD-\U0001F1E5\U0001F201-\U0001F20F\U0001F21A\U0001F22F"
    r"\U0001F232-\U0001F23A\U0001F23C-\U0001F23F\U0001F249-\U0001F3FA\U0001F400-\U0001F53D\U0001F546-\U0001F64F"
    r"\U0001F680-\U0001F6FF\U0001F774-\U0001F77F\U0001F7D5-\U0001F7FF\U0001F80C-\U0001F80F\U0001F848-\U0001F84F"
    r"\U0001F85A-\U0001F85F\U0001F888-\U0001F88F\U0001F8AE-\U0001F8FF\U0001F90C-\U0001F93A\U0001F93C-\U0001F945"
    r"\U0001F947-\U0001FAFF\U0001FC00-\U0001FFFD]"
)

_EXTEND = r"[\p{WB=Extend}\p{WB=Format}\p{WB=ZWJ}]*+"
_LETTER = rf"[\p{{WB=ALetter}}\p{{WB=Hebrew_Letter}}]{_EXTEND}"
_DIGIT = rf"\p{{WB=Numeric}}{_EXTEND}"
_KATAKANA = rf"\p{{WB=Katakana}}{_EXTEND}"
_JOIN = rf"\p{{WB=ExtendNumLet}}{_EXTEND}"
_IN_WORD = rf"[:'.\u00B7\u0387\u055F\u05F4\u2018\u2019\u2024\u2027\uFE13\uFE52\uFE55\uFF07\uFF0E\uFF1A]{_EXTEND}"
_IN_NUMBER = (
    r"[,;'.\u037E\u0589\u060C\u060D\u066C\u07F8\u2018\u2019\u2024\u2044\uFE50\uFE52\uFE54\uFF07\uFF0C\uFF0E\uFF1B]"
    + _EXTEND
)

# One run of letters, digits or katakana; runs follow each other directly (letters and digits only) or over joiners.
_RUN = rf"(?:(?:{_LETTER}(?:{_IN_WORD}(?={_LETTER}))?|{_DIGIT}(?:{_IN_NUMBER}(?={_DIGIT}))?)+|(?:{_KATAKANA})+)"

_TOKEN = regex.compile(
    rf"(?:{_JOIN})*{_RUN}(?:(?:{_JOIN})+{_RUN})*(?:{_JOIN})*"
    rf"|{_PICTOGRAPH}\uFE0F?\p{{Emoji_Modifier}}?(?:\u200D{_PICTOGRAPH}\uFE0F?\p{{Emoji_Modifier}}?)*{_EXTEND}"
    rf"|\p{{Regional_Indicator}}{{2}}{_EXTEND}"
    rf"|[#*]\uFE0F?\u20E3"
    rf"|[\p{{Script=Han}}\p{{Script=Hiragana}}]{_EXTEND}"
    rf"|(?:\p{{LB=SA}}{_EXTEND})+"
)

_POSSESSIVE = ("'s", "\u2019s", "\uff07s", "'S", "\u2019S", "\uff07S")


def tokens(text: str) -> list[str]:
    """Split a text at Unicode word breaks and keep what is a word, a number, an ideograph or an emoji."""
    found: list[str] = _TOKEN.findall(text)
    if any(len(token) > _LONGEST for token in found):
        found = [token[at : at + _LONGEST] for token in found for at in range(0, len(token), _LONGEST)]
    return found


def terms(text: str) -> list[str]:
    """Return the index terms of a text in their order, repeated ones included."""
    return [term for token in tokens(text) if (term := _term(token))]


@lru_cache(1 << 17)
def _term(token: str) -> str:
    """Make a token a term; a stop word becomes nothing."""
    if token.endswith(_POSSESSIVE):
        token = token[:-2]
    token = token.lower()
    return "" if token in STOP_WORDS else stem(token)
