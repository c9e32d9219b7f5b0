"""The lexical extractor: released words back to originals where only one reading is possible. No
model.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable

from sanitizer.answers.extractors import WORD_KINDS
from sanitizer.results import Replacement, SanitizedText
from sanitizer.text import Policy, article_for, without_clitic, word_spans

LONGEST = 128
"""Characters without a space that may hold a mapped word; longer runs pass as they are."""
MAX_GAP = 8
"""Spaces between an article and the word it belongs to."""
MIN_DIGITS = 3
"""Shorter numbers count and enumerate in any answer."""

_RUNS = re.compile(r"\S+|\s+")
_ARTICLE = re.compile(r"(?<![\w'’&/.@-])[Aa]n?\Z")
_OPENS = re.compile(r"[\"'“‘(\[*_]*")
_TIED_BEFORE = re.compile(
    r"[@/\\_#<&]\Z|\w[.,:]\Z"
)  # part of an address, a path, a placeholder, a numeral
_TIED_AFTER = re.compile(r"[@/\\_]|[.,:]\w")


class WordMap:
    """Released word -> original, for the words of some prompts.

    A released word is in it only if it stands for one original in all the prompts, stands itself in
    none of the originals, and is no public word.

    Args:
        prompts: what was released for them. policy: what is public.
    """

    def __init__(self, prompts: Iterable[SanitizedText], policy: Policy) -> None:
        found: defaultdict[str, dict[str, Replacement]] = defaultdict(dict)
        taken: set[str] = set()
        for result in prompts:
            taken |= _unreplaced(result)
            for r in result.replacements:
                taken |= _forms(r.original)
                if r.kind in WORD_KINDS:
                    found[_folded(r.replacement)].setdefault(_folded(r.original), r)
        self._pairs = {
            released: next(iter(originals.values()))
            for released, originals in found.items()
            if len(originals) == 1 and released not in taken and _usable(released, policy)
        }

    def __len__(self) -> int:
        return len(self._pairs)

    def __repr__(self) -> str:
        return f"WordMap({len(self)} words)"

    def stream(self) -> MappedStream:
        """For one answer that comes in pieces."""
        return MappedStream(self)

    def new(self, word: str) -> str | None:
        """What stands in place of this word of an answer, in the case it was written in; None:
        itself.
        """
        for stem in (word, without_clitic(word)):
            if (pair := self._pairs.get(_folded(stem))) is not None:
                return _cased(stem, pair.replacement, pair.original) + word[len(stem) :]
        return None


class MappedStream:
    """One answer, mapped as it comes. Holds back a run of characters until it ends, and an article
    before it.

    Attributes:
        n_mapped: words that were replaced so far.
    """

    def __init__(self, words_map: WordMap) -> None:
        self._map = words_map
        self._run = self._article = self._gap = ""
        self._too_long = False
        self.n_mapped = 0

    def feed(self, piece: str) -> str:
        """What can be shown once this piece has come."""
        runs = _RUNS.findall(self._run + piece)
        self._run = runs.pop() if runs and not runs[-1].isspace() else ""
        shown = [self._spaced(run) if run.isspace() else self._ended(run) for run in runs]
        if self._too_long or len(self._run) > LONGEST:
            shown.append(self._given_up() + self._run)
            self._too_long, self._run = True, ""
        return "".join(shown)

    def finish(self) -> str:
        """The rest: the answer ends here, or an identifier stands here."""
        rest = self._ended(self._run) + self._given_up()
        self._run, self._too_long = "", False
        return rest

    def _spaced(self, gap: str) -> str:
        self._too_long = False
        if self._article and len(self._gap + gap) <= MAX_GAP:
            self._gap += gap
            return ""
        return self._given_up() + gap

    def _given_up(self) -> str:
        """What was held back for the word after an article."""
        held, self._article, self._gap = self._article + self._gap, "", ""
        return held

    def _ended(self, run: str) -> str:
        """A whole run, mapped; held back if it ends in an article."""
        if self._too_long or len(run) > LONGEST:
            return self._given_up() + run
        shown: list[str] = []
        done = 0
        for begin, end in word_spans(run):
            new = None if _tied(run, begin, end) else self._map.new(run[begin:end])
            if new is not None:
                self._agree(run[:begin], new)
                shown += [run[done:begin], new]
                done, self.n_mapped = end, self.n_mapped + 1
        mapped = self._given_up() + "".join([*shown, run[done:]])
        if _ARTICLE.search(mapped) is None:
            return mapped
        self._article = mapped
        return ""

    def _agree(self, before: str, word: str) -> None:
        """Put the article that is held back right for this word, if nothing stands between."""
        if self._article and _OPENS.fullmatch(before):
            article = _ARTICLE.search(self._article)
            assert article is not None
            self._article = self._article[: article.start()] + article_for(word, article.group())


def _tied(run: str, begin: int, end: int) -> bool:
    """Whether a word is part of something longer, such as a path."""
    return bool(_TIED_BEFORE.search(run[:begin]) or _TIED_AFTER.match(run, end))


def _unreplaced(result: SanitizedText) -> set[str]:
    """The words of a prompt that were released as they are."""
    parts: list[str] = []
    at = 0
    for r in result.replacements:
        parts.append(result.text[at : r.start])
        at = r.end
    return _forms(" ".join([*parts, result.text[at:]]))


def _forms(text: str) -> set[str]:
    """The words of a text, with and without what hangs on them."""
    tokens = [text[begin:end] for begin, end in word_spans(text)]
    return {_folded(form) for token in tokens for form in (token, without_clitic(token))}


def _usable(released: str, policy: Policy) -> bool:
    """Whether an answer that holds this word can hold it because of the prompt only, as far as one
    can tell.
    """
    return not policy.is_public(released, False) and (
        not released.isdecimal() or len(released) >= MIN_DIGITS
    )


def _cased(word: str, released: str, original: str) -> str:
    """The original as the answer writes the released word; a capital of its own stays, one of a
    sentence's does not.
    """
    if word == released:
        return original
    if len(word) > 1 and word.isupper() and not released.isupper():
        return original.upper()
    if word[:1].isupper():
        return original[:1].upper() + original[1:]
    opened = released[:1].isupper() and original[1:].islower()
    return original.lower() if opened else original


def _folded(word: str) -> str:
    """Equal for words that differ in case or in how accents are encoded."""
    return unicodedata.normalize("NFC", word).casefold()
