"""Restoring: released values become originals again, by exact match, in texts and in streams.

The lexical extractor: released words become originals where only one reading is possible.

It needs no model. A released word is also found with or without an -s ("wombats" for "wombat"), if
no other word of the prompts has the same stem.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple, Protocol

from sanitizer.answers import formulas
from sanitizer.answers.links import MAY_LINK, LinkReader, Links
from sanitizer.answers.values import Reader
from sanitizer.answers.variants import Found, Variants
from sanitizer.results import Replacement, SanitizedText
from sanitizer.storage import Originals
from sanitizer.text import (
    WORD_KINDS,
    Policy,
    article_for,
    folded,
    without_clitic,
    word_spans,
)

LONGEST = 128
"""Longest run without a space, in characters, whose words are mapped."""
MAX_GAP = 8
"""Largest number of spaces between an article and the word it belongs to."""
MIN_DIGITS = 3
"""Digits of the shortest number that is mapped; shorter ones count and enumerate in any answer."""

_RUNS = re.compile(r"\S+|\s+")
_ARTICLE = re.compile(r"(?<![\w'’&/.@-])[Aa]n?\Z")
_OPENS = re.compile(r"[\"'“‘(\[*_]*")
# A word that touches these is part of an address, a path, a placeholder or a numeral.
_TIED_BEFORE = re.compile(r"[@/\\_#<&]\Z|\w[.,:]\Z")
_TIED_AFTER = re.compile(r"[@/\\_]|[.,:]\w")


# Adding an -s is more than spelling here, so it is not done: "bus", "quiz", "potato", "leaf",
# "stomach", "monarch", "taxi", "menu", "woman", "Chinese".
_UNSURE_WITH_S = re.compile(r"(?:[szoiuf]|fe|[ao]ch|arch|man|nese|guese)\Z")
_PEOPLE = (
    "ahmadi alevi bahraini bangladeshi emirati hanafi ibadi iraqi ismaili israeli kuwaiti omani "
    "pakistani qatari salafi saudi shafi'i sindhi somali sufi sunni wahhabi yemeni zaidi"
)
_IRREGULAR = {name: f"{name}s" for name in _PEOPLE.split()} | {
    "man": "men",
    "woman": "women",
    "child": "children",
    "person": "people",
    "wife": "wives",
    "foot": "feet",
    "tooth": "teeth",
}
_SINGULARS = {plural: singular for singular, plural in _IRREGULAR.items()}
# With an -s these are other words, which an answer may hold for its own reasons.
_OTHER_WITH_S = frozenset(
    """
    arm brief content custom due glass good green mean minute new odd outskirt pain pant premise
    regard respect saving short spectacle term thank time trouser work
    """.split()
)


class _Stemmer(Protocol):
    """The part of nltk's stemmers that is used here."""

    def stem(self, token: str) -> str:
        """Return the stem of a word."""


class _Pair(NamedTuple):
    """A form of a released word, the same form of its original, and the released word, folded."""

    form: str
    original: str
    released: str


class WordMap:
    """Map from released words to originals, for the words of some prompts.

    A released word is in it only if it was released for one original in all the prompts, occurs
    itself in none of them, and is no public word.

    Args:
        prompts: the prompts, as `sanitize` returned them.
        policy: the policy under which they were sanitized.
    """

    def __init__(self, prompts: Iterable[SanitizedText], policy: Policy) -> None:
        found: defaultdict[str, dict[str, Replacement]] = defaultdict(dict)
        taken: set[str] = set()
        for result in prompts:
            taken |= _unreplaced(result)
            for r in result.replacements:
                taken |= _forms(r.original)
                if r.kind in WORD_KINDS:
                    found[folded(r.replacement)].setdefault(folded(r.original), r)
        self._pairs = {
            released: next(iter(originals.values()))
            for released, originals in found.items()
            if len(originals) == 1 and released not in taken and _usable(released, policy)
        }
        self._words = taken | set(found)
        self._inflected = self._inflected_pairs(policy)

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
            if (pair := self._find(folded(bare))) is not None:
                return _cased(bare, pair.form, pair.original) + word[len(bare) :]
        return None

    def _find(self, word: str) -> _Pair | None:
        """Return what a folded word is mapped to."""
        if (exact := self._pairs.get(word)) is not None:
            return _Pair(exact.replacement, exact.original, word)
        pair = self._inflected.get(word)
        return pair if pair is not None and self._is_only_one_of_its_stem(pair) else None

    def _inflected_pairs(self, policy: Policy) -> dict[str, _Pair]:
        """Return the words of the map with an -s added or removed, by the folded form."""
        pairs: defaultdict[str, list[_Pair]] = defaultdict(list)
        for released, r in self._pairs.items():
            if r.kind == "word":
                for pair in _inflections(r.replacement, r.original, released):
                    pairs[folded(pair.form)].append(pair)
        return {
            form: found[0]
            for form, found in pairs.items()
            if len(found) == 1 and form not in self._words and _usable(form, policy)
        }

    def _is_only_one_of_its_stem(self, pair: _Pair) -> bool:
        """Return True if no other word of the prompts may be meant by the inflected form."""
        stems = {self._stemmer.stem(pair.released), self._stemmer.stem(folded(pair.form))}
        return sum(self._stems[stem] for stem in stems) == 1  # the released word itself

    @cached_property
    def _stems(self) -> Counter[str]:
        """How many words of the prompts, originals and released ones, have each stem."""
        return Counter(self._stemmer.stem(word) for word in self._words)

    @cached_property
    def _stemmer(self) -> _Stemmer:
        """The Snowball stemmer for English, which does not need nltk's downloads."""
        # This import takes a second, so it waits until an answer holds an inflected form.
        from nltk.stem.snowball import SnowballStemmer

        stemmer: _Stemmer = SnowballStemmer("english")
        return stemmer


class MappedStream:
    """Stream that maps the words of one answer.

    It holds back a run of characters until the run ends, and an article before it.

    Args:
        words_map: the map.
        reader: reads along and tells which words stand in a link; None: none do.

    Attributes:
        n_mapped: number of words replaced so far.
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
            new = None if _tied(run, begin, end) else self._map.new(run[begin:end])
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
        if self._article and _OPENS.fullmatch(before):
            article = _ARTICLE.search(self._article)
            assert article is not None
            self._article = self._article[: article.start()] + article_for(word, article.group())


def _tied(run: str, begin: int, end: int) -> bool:
    """Return True if a word is part of something longer, such as a path."""
    return bool(_TIED_BEFORE.search(run[:begin]) or _TIED_AFTER.match(run, end))


def _unreplaced(result: SanitizedText) -> set[str]:
    """Return the words of a prompt that were released as they are, folded."""
    stretches: list[str] = []
    at = 0
    for r in result.replacements:
        stretches.append(result.text[at : r.start])
        at = r.end
    return _forms(" ".join([*stretches, result.text[at:]]))


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


def _inflections(word: str, original: str, released: str) -> Iterator[_Pair]:
    """Yield the released word with an -s added and removed, beside the same form of its original.

    Nothing is yielded where the spelling of either is in doubt.
    """
    plural, plural_original = plural_of(word), plural_of(original) or _as_plural(original)
    if plural and plural_original and released not in _OTHER_WITH_S:
        yield _Pair(plural, plural_original, released)
    singular, singular_original = _without_s(word), _without_s(original)
    if singular and singular_original and folded(singular) not in _OTHER_WITH_S:
        yield _Pair(singular, singular_original, released)


def plural_of(word: str) -> str | None:
    """Return the plural of a noun (the third person of a verb), or None if it is in doubt."""
    if not re.fullmatch("[A-Za-z][a-z]{2,}", word):
        return None
    lower = word.lower()
    if lower in _IRREGULAR:
        return word[0] + _IRREGULAR[lower][1:]
    if _UNSURE_WITH_S.search(lower) or lower in _SINGULARS:
        return None
    regular = not re.search(r"(?:x|[cs]h|[^aeiou]y)\Z", lower)
    if word[0].isupper() and not regular:  # names follow other rules: "the Kennedys"
        return None
    if regular:
        return word + "s"
    return word[:-1] + "ies" if lower.endswith("y") else word + "es"


def _as_plural(word: str) -> str | None:
    """Return a name that is a plural already, such as "Quakers", or None."""
    return word if plural_of(word[:-1]) == word else None


def _without_s(word: str) -> str | None:
    """Return the only singular that has this plural, or None. Names in -s are none: "Paris"."""
    if word in _SINGULARS:
        return _SINGULARS[word]
    if not re.fullmatch("[a-z]{4,}", word):
        return None
    stripped = [word[:-n] + end for n, end in ((1, ""), (2, ""), (3, "y"))]
    singulars = [each for each in stripped if plural_of(each) == word]
    return singulars[0] if len(singulars) == 1 else None


_ALL_LINKS = Links()
_BARE = re.compile(r"[A-Z]+(?:_[A-Z]+)*(?:_[0-9]+)+_?")  # a placeholder as code has it


BEFORE = 8
"""Characters before a text that tell whether a value begins there."""


class Part(NamedTuple):
    """Stretch of an answer.

    Attributes:
        text: the stretch as it came.
        original: the original if the stretch is a released value, else None.
    """

    text: str
    original: str | None = None


def _joined(parts: Iterable[Part]) -> str:
    return "".join([part.text if part.original is None else part.original for part in parts])


class Restorer:
    """Mapping of released values to originals, applied to texts.

    It scans from the left; where several released values match, the longest wins. Each stretch is
    replaced once: an original that looks like a released value stays as it is. Placeholders are
    found escaped too, and stand-ins that were drawn with endings and in any case; values inside
    links stay as they are, unless the link was sent.

    >>> restorer = Restorer({"<EMAIL_1>": "anna@example.org"})
    >>> restorer.text("I wrote to <EMAIL_1>, yes, to &lt;EMAIL_1&gt;.")
    'I wrote to anna@example.org, yes, to anna@example.org.'
    >>> restorer.text("![](https://example.com/?q=<EMAIL_1>)")
    '![](https://example.com/?q=<EMAIL_1>)'

    Args:
        originals: released value -> original; no released value is empty. `Originals` are used as
            they are, and what is added to them later is restored too; other mappings are copied.
        links: tells what stands in links; None restores there too.
        escaped: find other spellings of placeholders.
        computes: what `formulas` says of values is computed.
    """

    def __init__(
        self,
        originals: Mapping[str, str],
        links: Links | None = _ALL_LINKS,
        escaped: bool = True,
        computes: bool = False,
    ) -> None:
        self.originals = originals if isinstance(originals, Originals) else Originals(originals)
        self.links = links
        self.computes = computes
        self._variants = Variants(self.originals, escaped)
        self._reader = Reader(self.originals), len(self.originals)

    def reader(self) -> Reader:
        """Return what reads the values; the same one until others are added."""
        if self._reader[1] != len(self.originals):
            self._reader = Reader(self.originals), len(self.originals)
        return self._reader[0]

    def text(self, text: str) -> str:
        """Return a whole text with originals."""
        return _joined(self.parts(text)[0])

    def stream(self) -> RestoredStream:
        """Return a stream that restores one text which comes in pieces, however it is split."""
        return RestoredStream(self)

    def parts(
        self, text: str, final: bool = True, before: str = "", reader: LinkReader | None = None
    ) -> tuple[list[Part], str]:
        """Return the text in parts, and its end that may become a released value.

        Args:
            text: the text.
            final: no more text comes, so that no end is held back.
            before: the last characters of the answer before it.
            reader: has read the answer before it, and reads what is returned in parts.
        """
        if reader is None and self.links is not None:
            reader = self.links.reader()
        end = len(text) if final else self._variants.grows_from(text, before)
        if self.computes and not final:
            end = min(end, len(text) - formulas.longest_begun(text))
        parts: list[Part] = []
        done = at = read = 0
        scan = _Scan(self, text, final, before)
        while (found := scan.next(at)) is not None and found.start < end:
            at = found.start
            if reader is not None:
                reader.read(text[read:at])
                read = at
            if found.end == at:  # may grow into a longer one
                return [*parts, Part(text[done:at])], text[at:]
            written = text[at : found.end]
            if reader is not None:
                stays = reader.holds(written, found.original, text[found.end :], final)
                if stays is None:
                    return [*parts, Part(text[done:at])], text[at:]
                # Only a value glued to the user's own link can change where that leads.
                glued = text.startswith("<", found.end) and _begins(found.original)
                if glued and not stays:
                    reader.read_restored(found.original, written)
                else:
                    reader.read(written)
                read = found.end
                if stays:
                    at = found.end
                    continue
            parts += [Part(text[done:at]), Part(written, found.original)]
            done = at = found.end
        end = max(end, done)
        if reader is not None:
            reader.read(text[read:end])
        return [*parts, Part(text[done:end])], text[end:]

    def spelled(self, text: str) -> list[tuple[int, int]]:
        """Return where a text has placeholders of the conversation, however they are spelled.

        Those are left out that only a table without the conversation's number has.
        """
        return [(found.start, found.end) for found in self._variants.tagged(text)]

    def other(self, text: str, at: int, before: str) -> Found | None:
        """Return the first value at or after a place that is written in another way."""
        return self._variants.find(text, at, before)

    def exact(self, text: str, at: int, final: bool, before: str = "") -> Found | None:
        """Return the first value at or after a place; an empty one where one may grow."""
        first = self.originals.first
        while first is not None and (found := first.search(text, at)) is not None:
            at = found.start()
            if not final and self._may_grow(text, at):
                return Found(at, at, "")
            if (pair := self._longest(text, at, before)) is not None:
                return Found(at, at + len(pair[0]), pair[1])
            at += 1
        return None

    def _longest(self, text: str, at: int, before: str) -> tuple[str, str] | None:
        """Return the longest released value that begins at `at`, and its original.

        A placeholder of code counts as a whole name or between underscores: "GRID_1" holds no ID_1.
        """
        for length in self.originals.lengths:
            value = text[at : at + length]
            original = self.originals.get(value)
            if original is None or self._is_word(value):
                continue
            if _BARE.fullmatch(value) is None or _stands_alone(text, at, at + length, before):
                return value, original
        return None

    def _is_word(self, value: str) -> bool:
        """Return True for values that are words, which have rules of their own."""
        return value in self.originals.drawn or value in self.originals.names

    def _may_grow(self, text: str, at: int) -> bool:
        """Return True if the rest of the text may be the beginning of a longer released value."""
        if len(text) - at > self.originals.lengths[0]:
            return False
        rest = text[at:]
        bare = rest in self.originals and _BARE.fullmatch(rest) is not None
        return bare or rest in self.originals.beginnings


def _begins(original: str) -> bool:
    """Return True for originals that are links: what follows them may go on in the link."""
    return MAY_LINK.search(original) is not None


def _stands_alone(text: str, start: int, end: int, before: str) -> bool:
    """Return True if no letter or digit touches a stretch; `before` is what precedes the text."""
    around = (text[start - 1] if start else before[-1:]) + text[end : end + 1]
    return not any(c.isalnum() for c in around)


class _Scan:
    """One pass over a text; what lies ahead is searched for once."""

    def __init__(self, restorer: Restorer, text: str, final: bool, before: str) -> None:
        self._restorer, self._text, self._final, self._before = restorer, text, final, before
        self._exact = restorer.exact(text, 0, final, before)
        self._other = restorer.other(text, 0, before)
        self._formula = self._formula_from(0) if restorer.computes else None

    def next(self, at: int) -> Found | None:
        """Return the first value or formula from a place on; an empty one where one may grow."""
        value = self._value(at)
        if self._formula is not None and self._formula.start < at:
            self._formula = self._formula_from(at)
        if self._formula is None or (value is not None and value.start < self._formula.start):
            return value
        return self._formula

    def _formula_from(self, at: int) -> Found | None:
        """Return the first formula at or after a place that can be shown."""
        while (at := self._text.find(formulas.OPENS, at)) >= 0:
            closing = formulas.closing(self._text, at)
            if closing >= 0:
                stop, restorer = closing + len(formulas.CLOSES), self._restorer
                written = self._text[at:stop]
                result = formulas.compute(
                    written, restorer.originals, restorer.text, restorer.reader()
                )
                plain = formulas.plainly(written) if result is None else None
                if result is None and plain is not None:
                    result = restorer.text(plain)
                if result is not None:
                    return Found(at, stop, result)
            elif not self._final and len(self._text) - at <= formulas.LONGEST:
                return Found(at, at, "")
            at += len(formulas.OPENS)
        return None

    def _value(self, at: int) -> Found | None:
        """Return the first released value at or after a place; an empty one where one may grow."""
        if self._exact is not None and self._exact.start < at:
            self._exact = self._restorer.exact(self._text, at, self._final, self._before)
        if self._other is not None and self._other.start < at:
            self._other = self._restorer.other(self._text, at, self._before)
        if self._exact is None or self._other is None:
            return self._exact or self._other
        return self._exact if self._exact.start <= self._other.start else self._other


class RestoredStream:
    """Stream that restores one text; it holds back only what may become a released value.

    >>> stream = Restorer({"<EMAIL_1>": "anna@example.org"}).stream()
    >>> stream.feed("to <EM"), stream.feed("AIL_1>."), stream.finish()
    ('to ', 'anna@example.org.', '')
    """

    def __init__(self, restorer: Restorer) -> None:
        self._restorer = restorer
        self._held = ""
        self._before = ""
        self._reader = None if restorer.links is None else restorer.links.reader()

    @property
    def held(self) -> str:
        """What was fed and cannot be shown yet, as it came."""
        return self._held

    def feed(self, piece: str) -> str:
        """Feed one piece; return the text that can be shown now."""
        return _joined(self.parts(piece))

    def parts(self, piece: str, final: bool = False) -> list[Part]:
        """Feed one piece; return the parts that can be shown now."""
        text = self._held + piece
        parts, self._held = self._restorer.parts(text, final, self._before, self._reader)
        self._before = (self._before + text[: len(text) - len(self._held)])[-BEFORE:]
        return parts

    def finish(self) -> str:
        """End the stream; return the text still held back."""
        return _joined(self.last_parts())

    def last_parts(self) -> list[Part]:
        """End the stream; return the parts still held back."""
        return self.parts("", final=True)
