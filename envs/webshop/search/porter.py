"""The Porter stemmer as Lucene has it: M. F. Porter, "An algorithm for suffix stripping" (1980).

With the two departures of Porter's own later version: "bli" becomes "ble" (not only "abli"), "logi" becomes "log".
Words of one or two letters stay as they are; every character but a, e, i, o, u (and y after a consonant) counts
as a consonant.
"""

from __future__ import annotations

# Step 2 and 3: the suffix is replaced where something with at least one vowel-consonant sequence stands before it.
_STEP_2 = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "bli": "ble",
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
    "logi": "log",
}
_STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
# Step 4: the suffix goes where at least two sequences stand before it; the longest that fits decides.
_STEP_4 = (
    *("ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ion", "ism", "ate", "iti", "ous", "ive", "ize"),
    *("al", "er", "ic", "ou"),
)


def stem(word: str) -> str:
    """Return the stem of a lower-case word."""
    if len(word) <= 2:
        return word
    word = _past_and_gerund(_plural(word))
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    return _final(_strip(_replace(_replace(word, _STEP_2), _STEP_3)))


def _shape(word: str) -> str:
    """Write a word as a string of v and c, one for each letter."""
    shape: list[str] = []
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and bool(shape) and shape[-1] == "c")
        shape.append("v" if vowel else "c")
    return "".join(shape)


def _measure(word: str) -> int:
    """Count the vowel-consonant sequences: m in [C](VC)^m[V]."""
    return _shape(word).count("vc")


def _has_vowel(word: str) -> bool:
    return "v" in _shape(word)


def _double(word: str) -> bool:
    return len(word) >= 2 and word[-1] == word[-2] and _shape(word)[-1] == "c"


def _short(word: str) -> bool:
    """Tell whether a word ends consonant, vowel, consonant, the last not w, x or y, as in "hop"."""
    return _shape(word)[-3:] == "cvc" and word[-1] not in "wxy"


def _plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past_and_gerund(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    base = next((word[: -len(end)] for end in ("ed", "ing") if word.endswith(end)), None)
    if base is None or not _has_vowel(base):
        return word
    if base.endswith(("at", "bl", "iz")):
        return base + "e"
    if _double(base):
        return base if base[-1] in "lsz" else base[:-1]
    return base + "e" if _measure(base) == 1 and _short(base) else base


def _replace(word: str, rules: dict[str, str]) -> str:
    for length in range(min(7, len(word)), 2, -1):
        suffix = word[-length:]
        if suffix in rules:
            return word[:-length] + rules[suffix] if _measure(word[:-length]) > 0 else word
    return word


def _strip(word: str) -> str:
    for suffix in _STEP_4:
        if word.endswith(suffix):
            base = word[: -len(suffix)]
            fits = _measure(base) > 1 and (suffix != "ion" or base.endswith(("s", "t")))
            return base if fits else word
    return word


def _final(word: str) -> str:
    if word.endswith("e"):
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not _short(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word
