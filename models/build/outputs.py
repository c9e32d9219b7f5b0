"""The output vocabulary Y: the words a private word may be replaced by.

Every word of Y is one whole token of the cased vocabulary, so that the masked model scores it
directly. Membership depends on public text and on two fixed lists only.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.build.fetch import CACHE, member
from models.build.tokens import tokenizer, tokens
from models.build.words import Counts, counts

NEVER_OUTPUT = Path(__file__).resolve().parents[1] / "words" / "never_output.txt"

MIN_COUNT = 57
"""Fewest occurrences of a token as a whole training word; Y then has about 12,500 words."""
MIN_COUNT_SHORT = 2000
"""MIN_COUNT for words of two letters."""
NAME_SHARE = 0.5
"""Least share of capitalized occurrences inside sentences for which the capitalized form stays
beside its lower-case form.
"""
NAME_SHARE_ALONE = 0.2
"""NAME_SHARE for a capitalized form whose lower-case form is no token (keeps "Barber", drops
"Moreover").
"""
ONLY_NAME_SHARE = 0.9
"""Least share of capitalized occurrences inside sentences for which a lower-case form is dropped
when its capitalized form is in Y.
"""

_SHAPE = re.compile(r"[A-Za-z][A-Za-z]+")


def stopwords(cache: Path = CACHE) -> frozenset[str]:
    """Return the 179 English stopwords, lower case."""
    return frozenset(member("nltk_data", "corpora/stopwords/english", cache).decode().split())


def never_output(path: Path = NEVER_OUTPUT) -> re.Pattern[str]:
    """Return a pattern that fully matches, in any case, every word that must not be released.

    The file holds one entry a line; `#` starts a comment; a trailing `*` makes the entry a prefix.
    """
    lines = (
        line.split("#", 1)[0].strip() for line in path.read_text(encoding="utf-8").splitlines()
    )
    parts = [re.escape(e[:-1]) + ".*" if e.endswith("*") else re.escape(e) for e in lines if e]
    return re.compile("|".join(parts) if parts else r"(?!)", re.I)


def token_counts(cache: Path = CACHE) -> NDArray[np.int64]:
    """Count how often each token occurs as a whole word in the training split: int64
    [n_vocabulary].
    """
    corpus = tokens("train", cache)
    whole = corpus.starts & np.append(corpus.starts[1:], True)
    return np.bincount(corpus.ids[whole], minlength=tokenizer(cache).get_vocab_size()).astype(
        np.int64
    )


def capital_share(word: str, table: Counts) -> float:
    """Return the share of a word's occurrences inside sentences that are capitalized; 0 without
    any.
    """
    _, lower, capital = table.get(word.lower(), (0, 0, 0))
    return capital / (lower + capital) if lower + capital else 0.0


def _admissible(cache: Path) -> dict[str, int]:
    """Map word to token id, before the choice between capitalized and lower-case forms."""
    stop, never, seen = stopwords(cache), never_output(), token_counts(cache)
    vocabulary = tokenizer(cache).get_vocab()
    return {
        word: token
        for word, token in vocabulary.items()
        if _SHAPE.fullmatch(word)
        and not word.isupper()
        and seen[token] >= (MIN_COUNT_SHORT if len(word) == 2 else MIN_COUNT)
        and word.lower() not in stop
        and not never.fullmatch(word)
    }


def _right_case(
    word: str, words: dict[str, int], vocabulary: dict[str, int], table: Counts
) -> bool:
    """Return True if this capitalization of the word belongs in Y."""
    share = capital_share(word, table)
    if word.islower():
        return word.capitalize() not in words or share < ONLY_NAME_SHARE
    if word.lower() in words:
        return share >= NAME_SHARE
    return word.lower() in vocabulary or share >= NAME_SHARE_ALONE


def output_vocabulary(cache: Path = CACHE) -> tuple[list[str], NDArray[np.int64]]:
    """Return the words of Y as written and their ids, int64 [n_outputs], in order of the ids."""
    words, table, vocabulary = _admissible(cache), counts(cache), tokenizer(cache).get_vocab()
    kept = [
        (token, word)
        for word, token in words.items()
        if _right_case(word, words, vocabulary, table)
    ]
    kept.sort()
    return [word for _, word in kept], np.array([token for token, _ in kept], dtype=np.int64)
