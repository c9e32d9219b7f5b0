"""Tell the language of a text by lists of everyday words.

The lists are public, and so is the answer: it is a function of the words that are on a list, the
number of the others, and the characters between words. Which words the others are does not matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from functools import cache
from itertools import islice
from pathlib import Path
from types import MappingProxyType

from sanitizer.lm import Manifest
from sanitizer.text.words import word_spans

DEFAULT = "en"
"""Language of a text that shows none, such as code, a table or a list of names."""
MIN_SHARE = 0.28
"""Least share of words that are on the list of the language; a word of several lists counts
`SHARED`. Both were chosen by errors on English prompts and short texts of nine languages, where any
share from .26 to .29 does as well. Short texts with rare words fall below it and are refused.
"""
MIN_DEFAULT = 0.2
"""Least share of words that are on the list of `DEFAULT`, shared ones at one, where more of its own
words occur than of any other language: names and rare words may be most of a short text.
"""
CLEAR, CLEAR_LEAD, MIN_CLEAR_SHARE = 6, 6, 0.22
"""Words that one language alone must have, how many times as many as the next, and the share that
is then enough: a German letter has names and nouns with capitals, which do not count.
"""
MOSTLY, MOSTLY_OWN = 0.45, 3
"""Share of words on the list of a language, twice that of any other, and words that it alone must
have: half of the everyday words of French are also on another list.
"""
LONG, MIN_LONG_SHARE = 30, 0.24
"""From so many words on chance does less, and this share is enough. A Spanish message of 50 words
with ten names in it has .27, long texts in Portuguese and Italian have .14 and .15.
"""
SHARED = 0.25
FEW_WORDS = 6
"""A text of fewer words shows too little to be refused."""
SHORT_WORDS = 10
"""Most words of a text for which one word of `DEFAULT`, and none of another language, is enough:
most of "Anna Lund met Peter in Leeds" are names.
"""
LEAST_OWN = 2
"""Words that another language alone must have for the same: "Ana Ruiz vive en Soria y tiene asma".
"""
MOST_SHARED = 0.5
"""Share of words on the list of a language from which one that is on no other list is enough."""
MAX_WORDS = 20_000
"""Words at the beginning of a text that are read, in a tenth of a second. A cut by characters would
depend on the lengths of hidden words.
"""
_FOREIGN_MARKS = "。、，；：！？「」『』《》【】（）،؛؟۔।॥"
"""Punctuation of scripts that none of the lists is written in."""
_STRUCTURE = '{}[]<>=|;_#*/\\",\t\n'
"""Characters between the words of code, tables and lists. The prose of the tests has at most one
for five words.
"""
_WORDS_PER_MARK = 3
"""A text with a character of `_STRUCTURE` for every three words counts as code, table or list."""


def language_of(
    text: str,
    lists: Mapping[str, AbstractSet[str]],
    anywhere: AbstractSet[str] = frozenset(),
) -> str | None:
    """Return the language whose list fits a text, or None if no list does.

    The first `MAX_WORDS` words are read. Texts of few words, code, tables and lists of names are in
    `DEFAULT` if nothing contradicts.

    Guarantee: the words that count are on a list, so a caller that releases them gives nothing else
    away. Of all other words only the number enters, plain numbers not counted: they are of a
    kind of their own.

    Args:
        text: any string, best without its identifiers: parts of an address would count as words.
        lists: everyday words of each language, in lower case. A word counts only as it is listed:
            written with a capital, it may be a name.
        anywhere: words of the lists that count with capitals too, such as "The" and "PLEASE".

    Example:
        >>> lists = {"en": {"where", "is", "my"}, "de": {"wo", "ist", "mein"}}
        >>> language_of("wo ist mein Buch?", lists)
        'de'
        >>> print(language_of("gdzie jest moja nowa czerwona torba?", lists))
        None
    """
    spans = list(islice(word_spans(text), MAX_WORDS))
    if len(spans) == MAX_WORDS:
        text = text[: spans[-1][1]]
    words = [word for begin, end in spans if not (word := text[begin:end]).isdecimal()]
    own, listed = _on_lists(Counter(words), lists, anywhere)
    best = _most(own)
    if best is not None and _is_clear(best, own, listed, len(words)):
        return best
    if any(mark in text for mark in _FOREIGN_MARKS):
        return None
    if (short := _of_short(own, listed, len(words))) is not None:
        return short
    if best == DEFAULT and listed[DEFAULT] >= MIN_DEFAULT * len(words):
        return DEFAULT
    if len(words) >= FEW_WORDS and not _is_structured(text, len(words)):
        return None
    contradicted = best is not None and own[best] >= 3 and not own[DEFAULT]
    return best if contradicted else DEFAULT


@cache
def language_lists(folder: Path) -> Mapping[str, frozenset[str]]:
    """Return the lists of a folder by language, read once; "fr.txt" is the list of "fr".

    Args:
        folder: holds the lists and their manifest, as the packaged `words/languages` does.

    Raises:
        ModelError: the manifest is missing or damaged, or a list differs from it.

    Example:
        >>> from sanitizer.lm import model_folder
        >>> sorted(language_lists(model_folder("words") / "languages"))
        ['de', 'es', 'fr']
    """
    manifest = Manifest.read(folder)
    manifest.verify()
    names = (Path(name) for name in manifest.data["files"])
    return MappingProxyType({name.stem: _entries(folder / name) for name in names})


def _entries(path: Path) -> frozenset[str]:
    lines = (line.split("#", 1)[0].strip() for line in path.read_text("utf-8").splitlines())
    return frozenset(line for line in lines if line)


def _fit(n_own: int, n_listed: int) -> float:
    """Return the number of listed words, those of several lists at less than one."""
    return n_own + SHARED * (n_listed - n_own)


def _on_lists(
    words: Counter[str], lists: Mapping[str, AbstractSet[str]], anywhere: AbstractSet[str]
) -> tuple[Counter[str], Counter[str]]:
    """Count by language the words that are on its list alone, and all that are on its list."""
    own: Counter[str] = Counter()
    listed: Counter[str] = Counter()
    for word, n in words.items():
        # The pattern of words keeps a typographic apostrophe; lists have the typewriter's.
        form = word.replace("’", "'")
        if (lowered := form.lower()) in anywhere:
            form = lowered
        languages = [language for language, entries in lists.items() if form in entries]
        for language in languages:
            listed[language] += n
        if len(languages) == 1:
            own[languages[0]] += n
    return own, listed


def _most(own: Counter[str]) -> str | None:
    """Return the language with most words; ties go to the default, then by alphabet."""
    return min(own, key=lambda name: (-own[name], name != DEFAULT, name), default=None)


def _is_clear(best: str, own: Counter[str], listed: Counter[str], n_words: int) -> bool:
    """Return True if enough words are of a language, or fewer, but hardly any of another."""
    share = MIN_SHARE if n_words < LONG else MIN_LONG_SHARE
    if _fit(own[best], listed[best]) >= share * n_words:
        return True
    second = max((n for name, n in own.items() if name != best), default=0)
    if own[best] >= max(CLEAR, CLEAR_LEAD * second):
        return _fit(own[best], listed[best]) >= MIN_CLEAR_SHARE * n_words
    other = max((n for name, n in listed.items() if name != best), default=0)
    mostly = listed[best] >= max(MOSTLY * n_words, 2 * other)
    return mostly and own[best] >= MOSTLY_OWN


def _of_short(own: Counter[str], listed: Counter[str], n_words: int) -> str | None:
    """Return the only language that few words, or words that are mostly shared, can be of."""
    if len(own) > 1:
        return None
    alone = next(iter(own), DEFAULT)
    if n_words <= SHORT_WORDS and (alone == DEFAULT or own[alone] >= LEAST_OWN):
        return alone if listed[alone] else None
    return alone if own and listed[alone] >= MOST_SHARED * n_words else None


def _is_structured(text: str, n_words: int) -> bool:
    """Return True if the characters between the words are those of code, a table or a list."""
    # No word holds one of these characters, so all of them are between words.
    marks = sum(text.count(mark) for mark in _STRUCTURE)
    return marks * _WORDS_PER_MARK >= n_words
