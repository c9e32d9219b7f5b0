"""The lexical extractor: released words become originals where only one reading is possible.

It needs no model. A released word is also found with or without an -s ("wombats" for "wombat"), if
no other word of the prompts has the same stem.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

from sanitizer.answers.amounts import FORMS
from sanitizer.answers.links import LinkReader, Links
from sanitizer.results import Replacement, SanitizedText
from sanitizer.text.policy import Policy
from sanitizer.text.words import WORD_KINDS, article_for, folded, without_clitic, word_spans

LONGEST = 128
"""Longest run without a space, in characters, whose words are mapped."""
MAX_GAP = 8
"""Largest number of spaces between an article and the word it belongs to."""
MIN_DIGITS = 3
"""Digits of the shortest number that is mapped; shorter ones count and enumerate in any answer."""

_RUNS = re.compile(r"\S+|\s+")
_ARTICLE = re.compile(r"(?<![\w'’&/.@-])[Aa]n?\Z")
_OPENS = "\"'“‘([*_"
# A word that touches these is part of an address, a path, a placeholder or a numeral.
_TIED_BEFORE = re.compile(r"[@/\\_#<&]\Z|\w[.,:]\Z")
_TIED_AFTER = re.compile(r"[@/\\_]|[.,:]\w")

# Adding an -s is more than spelling here, so it is not done: "bus", "quiz", "potato", "leaf",
# "stomach", "monarch", "taxi", "menu", "woman", "Chinese".
_UNSURE_WITH_S = (*"szoiuf", "fe", "ach", "och", "arch", "man", "nese", "guese")
_PLURALS: dict[str, str] = FORMS["plurals"]
_SINGULARS = {plural: singular for singular, plural in _PLURALS.items()}


class _Pair(NamedTuple):
    """A form of a released word, the same form of its original, and the released word, folded."""

    form: str
    original: str
    released: str


class WordMap:
    """Map from released words to originals, for the words of some prompts.

    A released word is in it only if it was released for one original in all the prompts, occurs
    itself in none of them, and is no public word.
    """

    def __init__(self, prompts: Iterable[SanitizedText], policy: Policy) -> None:
        found: defaultdict[str, dict[str, Replacement]] = defaultdict(dict)
        taken: set[str] = set()
        for result in prompts:
            taken |= _forms(" ".join(between(result)))
            for r in result.replacements:
                taken |= _forms(r.original)
                if r.kind in WORD_KINDS:
                    found[folded(r.replacement)].setdefault(folded(r.original), r)
        sure = {
            released: next(iter(originals.values()))
            for released, originals in found.items()
            if len(originals) == 1 and released not in taken and _usable(released, policy)
        }
        self._pairs = {
            released: _Pair(r.replacement, r.original, released) for released, r in sure.items()
        }
        self._words = taken | set(found)
        inflected: defaultdict[str, list[_Pair]] = defaultdict(list)
        for released, r in sure.items():
            for pair in _inflections(self._pairs[released]) if r.kind == "word" else ():
                inflected[folded(pair.form)].append(pair)
        self._inflected = {
            form: pairs[0]
            for form, pairs in inflected.items()
            if len(pairs) == 1 and form not in self._words and _usable(form, policy)
        }

    def __len__(self) -> int:
        return len(self._pairs)

    def __repr__(self) -> str:
        return f"WordMap({len(self)} words)"

    def stream(self, links: Links | None = None) -> MappedStream:
        """Return a stream that maps the words of one answer, none in what `links` finds."""
        return MappedStream(self, None if links is None else links.reader())

    def new(self, word: str) -> str | None:
        """Return the original for a word of an answer, in the answer's case, or None."""
        for bare in (word, without_clitic(word)):
            pair = self._pairs.get(folded(bare))
            if pair is None:
                pair = self._inflected.get(folded(bare))
                pair = pair if pair and self._is_only_one_of_its_stem(pair) else None
            if pair is not None:
                return _cased(bare, pair.form, pair.original) + word[len(bare) :]
        return None

    def _is_only_one_of_its_stem(self, pair: _Pair) -> bool:
        """Return True if no other word of the prompts may be meant by the inflected form."""
        stems = {self._stemmer.stem(pair.released), self._stemmer.stem(folded(pair.form))}
        return sum(self._stems[stem] for stem in stems) == 1  # the released word itself

    @cached_property
    def _stems(self) -> Counter[str]:
        """How many words of the prompts, originals and released ones, have each stem."""
        return Counter(self._stemmer.stem(word) for word in self._words)

    @cached_property
    def _stemmer(self) -> Any:
        """The Snowball stemmer for English, which does not need nltk's downloads."""
        # This import takes a second, so it waits until an answer holds an inflected form.
        from nltk.stem.snowball import SnowballStemmer

        return SnowballStemmer("english")


class MappedStream:
    """Stream that maps the words of one answer.

    It holds back a run of characters until the run ends, and an article before it.

    Args:
        reader: reads along and tells which words stand in a link; None: none do.
    """

    def __init__(self, words_map: WordMap, reader: LinkReader | None = None) -> None:
        self._map = words_map
        self._reader = reader
        self._run = ""
        self._article = ""
        self._gap = ""
        self._too_long = False
        self.n_mapped = 0

    def feed(self, piece: str) -> str:
        """Feed one piece; return the text that can be shown now."""
        runs = _RUNS.findall(self._run + piece)
        self._run = runs.pop() if runs and not runs[-1].isspace() else ""
        shown = [self._spaced(run) if run.isspace() else self._ended(run) for run in runs]
        if self._too_long or len(self._run) > LONGEST:
            self.passed(self._run)
            shown.append(self._given_up() + self._run)
            self._too_long, self._run = True, ""
        return "".join(shown)

    def passed(self, text: str) -> None:
        """Note text of the answer in which no word is mapped."""
        if self._reader is not None:
            self._reader.read(text)

    def finish(self) -> str:
        """End the stretch (an identifier or the end follows); return the text still held back."""
        rest = self._ended(self._run) + self._given_up()
        self._run, self._too_long = "", False
        return rest

    def _spaced(self, gap: str) -> str:
        self._too_long = False
        self.passed(gap)
        if self._article and len(self._gap + gap) <= MAX_GAP:
            self._gap += gap
            return ""
        return self._given_up() + gap

    def _given_up(self) -> str:
        """Return what was held back for the word after an article, and forget it."""
        held, self._article, self._gap = self._article + self._gap, "", ""
        return held

    def _ended(self, run: str) -> str:
        """Return a whole run with its words mapped, or hold it back if it ends in an article."""
        if self._too_long or len(run) > LONGEST:
            self.passed(run)
            return self._given_up() + run
        shown: list[str] = []
        done = read = 0
        for begin, end in word_spans(run):
            tied = _TIED_BEFORE.search(run[:begin]) or _TIED_AFTER.match(run, end)
            new = None if tied else self._map.new(run[begin:end])
            if new is not None:
                self.passed(run[read:begin])
                read = begin
                if self._reader is not None and self._reader.is_inside:
                    continue
                self._agree(run[:begin], new)
                shown += [run[done:begin], new]
                done, self.n_mapped = end, self.n_mapped + 1
        self.passed(run[read:])
        mapped = self._given_up() + "".join([*shown, run[done:]])
        if _ARTICLE.search(mapped) is None:
            return mapped
        self._article = mapped
        return ""

    def _agree(self, before: str, word: str) -> None:
        """Make the article that is held back agree with this word, if it is the next one."""
        article = _ARTICLE.search(self._article)
        if article and not before.strip(_OPENS):
            self._article = self._article[: article.start()] + article_for(word, article.group())


def between(result: SanitizedText) -> list[str]:
    """Return the stretches of a sanitized text around its replacements."""
    ends = [0, *(r.end for r in result.replacements)]
    starts = [*(r.start for r in result.replacements), len(result.text)]
    return [result.text[end:start] for end, start in zip(ends, starts, strict=True)]


def _forms(text: str) -> set[str]:
    """Return the words of a text, folded, with and without a clitic such as "'s"."""
    tokens = [text[begin:end] for begin, end in word_spans(text)]
    return {folded(form) for token in tokens for form in (token, without_clitic(token))}


def _usable(released: str, policy: Policy) -> bool:
    """Return True if answers hold this word, as far as one can tell, because of the prompt only."""
    return not policy.is_public(released, False) and (
        not released.isdecimal() or len(released) >= MIN_DIGITS
    )


def _cased(word: str, released: str, original: str) -> str:
    """Return the original in the case in which the answer has the released word.

    A capital that belongs to the original stays; one that began a sentence of the prompt does not.
    """
    if word == released:
        return original
    if len(word) > 1 and word.isupper() and not released.isupper():
        return original.upper()
    if word[:1].isupper():
        return original[:1].upper() + original[1:]
    opened = released[:1].isupper() and original[1:].islower()
    return original.lower() if opened else original


def _inflections(pair: _Pair) -> Iterator[_Pair]:
    """Yield a released word with an -s added and removed, beside the same form of its original.

    Nothing is yielded where the spelling of either is in doubt.
    """
    word, original, released = pair
    plural, plural_original = plural_of(word), plural_of(original)
    if plural_original is None and plural_of(original[:-1]) == original:
        plural_original = original  # a name that is a plural already, such as "Quakers"
    if plural and plural_original and released not in FORMS["other"]["with_s"]:
        yield _Pair(plural, plural_original, released)
    singular, singular_original = _without_s(word), _without_s(original)
    if singular and singular_original and folded(singular) not in FORMS["other"]["with_s"]:
        yield _Pair(singular, singular_original, released)


def plural_of(word: str) -> str | None:
    """Return the plural of a noun (the third person of a verb), or None if it is in doubt."""
    if not re.fullmatch("[A-Za-z][a-z]{2,}", word):
        return None
    lower = word.lower()
    if lower in _PLURALS:
        return word[0] + _PLURALS[lower][1:]
    if lower.endswith(_UNSURE_WITH_S) or lower in _SINGULARS:
        return None
    regular = not re.search(r"(?:x|[cs]h|[^aeiou]y)\Z", lower)
    if word[0].isupper() and not regular:  # names follow other rules: "the Kennedys"
        return None
    if regular:
        return word + "s"
    return word[:-1] + "ies" if lower.endswith("y") else word + "es"


def _without_s(word: str) -> str | None:
    """Return the only singular that has this plural, or None. Names in -s are none: "Paris"."""
    if word in _SINGULARS:
        return _SINGULARS[word]
    if not re.fullmatch("[a-z]{4,}", word):
        return None
    stripped = [word[:-n] + end for n, end in ((1, ""), (2, ""), (3, "y"))]
    singulars = [each for each in stripped if plural_of(each) == word]
    return singulars[0] if len(singulars) == 1 else None
