"""What a tool hid of a prompt, and what it left: counts per prompt, and shares over prompts.

A word is a run of letters and digits; a content word is one that is no stopword. A word counts as
replaced where a tool replaced a stretch that touches it, unless the word is among those written in
the stretch's place: a draw that gives a word back hides nothing. A sensitive span is hidden if
every content word of it was replaced, to its last character. A FACT, which is told in everyday
words, is hidden if at least one was: "in part", which is counted for every class.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from benchmarks.common.intervals import weightings
from benchmarks.common.timing import median
from benchmarks.usefulness.prompts import CLASSES, Foreign, Prompt, Span
from sanitizer.detect import public_forms
from sanitizer.results import SanitizedText
from sanitizer.text import Policy

NAMES = frozenset({"PERSON", "ORGANIZATION", "PLACE", "PRODUCT"})
NUMBERS = frozenset({"MONEY", "DATE", "NUMBER", "ID"})
GROUPS = ("all", "names", "numbers", "lower-case", "public facts", "all but public facts")
_WORD = re.compile(r"[^\W_]+")
_PLACEHOLDER = re.compile(r"<[A-Z_]+(?:_\d+)+>")
_TITLES = frozenset(
    "dr mr mrs ms miss mx prof professor sir madam rev fr herr herrn frau monsieur madame mme "
    "se\u00f1or se\u00f1ora".split()
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
Place = tuple[int, int]
Share = tuple[int, int]
"""How many of how many."""


class Stretch(NamedTuple):
    """One replaced stretch: character offsets in the ORIGINAL text, and what took its place."""

    start: int
    end: int
    released: str


@dataclass(frozen=True)
class Outcome:
    """What a tool did to one text.

    Attributes:
        stretches: what was replaced, in order, not overlapping.
        seconds: how long it took.
        warned: places of the original text that the tool warned about.
        restored: True if the original came back byte for byte; None if the tool restores nothing.
    """

    stretches: tuple[Stretch, ...] = field(repr=False)
    seconds: float
    warned: tuple[Place, ...] = ()
    restored: bool | None = None


Treat = Callable[[str], Outcome | None]
"""A tool: a text in, what was done to it out; None if the text was refused."""


def stretches_of(result: SanitizedText, text: str) -> tuple[Stretch, ...]:
    """Return a result's replacements by their places in the original text.

    Raises:
        ValueError: the replacements do not lead from the one text to the other.
    """
    found: list[Stretch] = []
    parts: list[str] = []
    at = length = 0
    for each in result.replacements:
        kept = result.text[at : each.start]
        start = length + len(kept)
        length = start + len(each.original)
        at = each.end
        parts += [kept, each.original]
        found.append(Stretch(start, length, result.text[each.start : each.end]))
    if "".join([*parts, result.text[at:]]) != text:
        raise ValueError("the replacements do not give the original text back")
    return tuple(found)


def covering(spans: Iterable[Place]) -> tuple[Stretch, ...]:
    """Return stretches that cover the spans a tool found, overlapping ones joined."""
    joined: list[Place] = []
    for start, end in sorted(spans):
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return tuple(Stretch(start, end, "") for start, end in joined)


@cache
def stopwords() -> frozenset[str]:
    """Return the runs of letters that the packaged stopwords consist of: "don" and "t"."""
    return frozenset(
        part for word in Policy.preset("strict").public for part in _WORD.findall(word)
    )


def public_words() -> frozenset[str]:
    """Return the words that are public in lower case, whatever their context."""
    forms = public_forms()
    return forms.anywhere | forms.opening | forms.lower


def words_in(text: str, place: Place | None = None) -> list[Place]:
    """Return the places of the words of a text, or of one stretch of it."""
    found = _WORD.finditer(text) if place is None else _WORD.finditer(text, *place)
    return [word.span() for word in found]


def content_of(text: str, place: Place) -> list[Place]:
    """Return the content words of a span; all its words, or the whole span, if it has none.

    A title before a name is none: it is public, and says how to address somebody.
    """
    words = words_in(text, place)
    empty = stopwords() | _TITLES
    content = [word for word in words if text[slice(*word)].casefold() not in empty]
    return content or words or [place]


class Changes:
    """Tells of each word of one text whether it was replaced."""

    def __init__(self, text: str, stretches: Sequence[Stretch]) -> None:
        self._text = text
        self._stretches = stretches
        self._ends = [stretch.end for stretch in stretches]
        self._released = [
            frozenset(_WORD.findall(_PLACEHOLDER.sub(" ", stretch.released).casefold()))
            for stretch in stretches
        ]

    def touched(self, word: Place) -> bool:
        """Return True if a part of the word was replaced."""
        return any(True for _ in self._over(word))

    def hidden(self, word: Place) -> bool:
        """Return True if every character of the word was replaced."""
        covered = sum(
            min(word[1], stretch.end) - max(word[0], stretch.start) for stretch in self._over(word)
        )
        return covered == word[1] - word[0]

    def _over(self, word: Place) -> Iterator[Stretch]:
        written = self._text[slice(*word)].casefold()
        # the first stretch that ends behind the word's beginning
        for i in range(bisect_left(self._ends, word[0] + 1), len(self._stretches)):
            if self._stretches[i].start >= word[1]:
                return
            if written not in self._released[i]:
                yield self._stretches[i]


def sentence_around(text: str, span: Span) -> Place:
    """Return the sentence, or line, that a span begins in, and to where the span ends.

    What is between two sentences belongs to neither.
    """
    found = [found.span() for found in _SENTENCE_END.finditer(text)]
    start = max((end for _, end in found if end <= span.start), default=0)
    return start, min((begin for begin, _ in found if begin >= span.end), default=len(text))


def sentences_in(text: str) -> Iterator[Place]:
    """Yield the sentences and lines of a text that hold a word."""
    found = [found.span() for found in _SENTENCE_END.finditer(text)]
    starts, ends = [0, *(end for _, end in found)], [*(begin for begin, _ in found), len(text)]
    for start, end in zip(starts, ends, strict=True):
        if words_in(text, (start, end)):
            yield start, end


def groups_of(text: str, span: Span, public: frozenset[str]) -> Iterator[str]:
    """Yield the names under which a span is counted: its class, and its groups."""
    yield span.label
    yield "all"
    if span.label in NAMES:
        yield "names"
    if span.label in NUMBERS:
        yield "numbers"
    written = text[span.start : span.end]
    words = {text[slice(*word)] for word in content_of(text, (span.start, span.end))}
    known = words <= public
    if not known and written == written.lower() and not any(c.isdigit() for c in written):
        yield "lower-case"
    if span.label == "FACT" and {word.casefold() for word in words} <= public:
        yield "public facts"
    else:
        yield "all but public facts"


@dataclass(frozen=True)
class Counts:
    """What was counted in one labelled prompt.

    Attributes:
        spans: name of a class or group -> of its spans: how many, hidden, hidden in part, in a
            sentence that was warned about, and hidden or so warned.
        tasks: task words kept. others: other words changed.
        harmless: sentences without a span that were warned about.
    """

    spans: Mapping[str, tuple[int, int, int, int, int]]
    tasks: Share
    others: Share
    harmless: Share


def counted(prompt: Prompt, outcome: Outcome, public: frozenset[str]) -> Counts:
    """Count what happened to one labelled prompt.

    Args:
        public: words, in lower case, that are on the public lists.
    """
    text, changes = prompt.text, Changes(prompt.text, outcome.stretches)
    spans = dict.fromkeys((*CLASSES, *GROUPS), (0, 0, 0, 0, 0))
    for span in prompt.spans:
        found = _of_span(text, span, changes, outcome.warned)
        for name in groups_of(text, span, public):
            a, b, c, d, e = (x + y for x, y in zip(spans[name], found, strict=True))
            spans[name] = (a, b, c, d, e)
    kept = sum(not changes.touched(word) for word in prompt.tasks)
    others = _outside(text, [*((s.start, s.end) for s in prompt.spans), *prompt.tasks])
    changed = sum(map(changes.touched, others))
    harmless = [
        any(begin < end and start < stop for begin, stop in outcome.warned)
        for start, end in sentences_in(text)
        if not any(span.start < end and start < span.end for span in prompt.spans)
    ]
    return Counts(
        spans, (kept, len(prompt.tasks)), (changed, len(others)), (sum(harmless), len(harmless))
    )


def _of_span(
    text: str, span: Span, changes: Changes, warned: Sequence[Place]
) -> tuple[int, int, int, int, int]:
    hidden = [changes.hidden(word) for word in content_of(text, (span.start, span.end))]
    whole = any(hidden) if span.label == "FACT" else all(hidden)
    start, end = sentence_around(text, span)
    seen = any(begin < end and start < stop for begin, stop in warned)
    return 1, int(whole), int(any(hidden)), int(seen), int(whole or seen)


def _outside(text: str, places: Iterable[Place]) -> list[Place]:
    """Return the words that share no character with the places."""
    taken = covering(places)
    changes = Changes(text, taken)
    return [word for word in words_in(text) if not changes.touched(word)]


def share(counts: Sequence[Share]) -> dict[str, float] | None:
    """Return a share with its 95 % bootstrap interval over prompts; None if nothing was counted."""
    hits, of = np.asarray(counts, dtype=np.float64).reshape(-1, 2).T
    if not of.sum():
        return None
    weights = weightings(len(of))
    n = weights @ of
    # A resample that holds none of a rare class says nothing about it.
    found = (weights @ hits)[n > 0] / n[n > 0]
    low, high = np.quantile(found[1:], (0.025, 0.975)) if len(found) > 1 else (found[0], found[0])
    return {"mean": float(found[0]), "low": float(low), "high": float(high), "n": int(of.sum())}


def summary(
    prompts: Sequence[Prompt], outcomes: Sequence[Outcome | None], public: frozenset[str]
) -> dict[str, Any]:
    """Return all figures of one tool on labelled prompts; None is a prompt that it refused.

    Raises:
        ValueError: every prompt was refused.
    """
    pairs = [(p, o) for p, o in zip(prompts, outcomes, strict=True) if o is not None]
    if not pairs:
        raise ValueError("every prompt was refused")
    found = [counted(prompt, outcome, public) for prompt, outcome in pairs]
    back = [(int(o.restored), 1) for _, o in pairs if o.restored is not None]
    return {
        "n_prompts": len(pairs),
        "n_refused": len(prompts) - len(pairs),
        "spans": {name: _spans(found, name) for name in (*GROUPS, *CLASSES)},
        "task_words_kept": share([counts.tasks for counts in found]),
        "other_words_changed": share([counts.others for counts in found]),
        "harmless_sentences_warned": share([counts.harmless for counts in found]),
        "restored": share(back) if back else None,
        "ms": median([outcome.seconds for _, outcome in pairs]),
    }


def _spans(found: Sequence[Counts], name: str) -> dict[str, Any]:
    rows = [counts.spans[name] for counts in found]
    columns = ("hidden", "in_part", "warned", "hidden_or_warned")
    return {
        "n": sum(row[0] for row in rows),
        **{
            column: share([(row[i], row[0]) for row in rows]) for i, column in enumerate(columns, 1)
        },
    }


def of_pupa(prompts: Sequence[Foreign], outcomes: Sequence[Outcome | None]) -> dict[str, Any]:
    """Return the figures of one tool on PUPA: words inside the labelled units, and outside."""
    inside: list[Share] = []
    outside: list[Share] = []
    for prompt, outcome in zip(prompts, outcomes, strict=True):
        if outcome is None:
            continue
        changes = Changes(prompt.text, outcome.stretches)
        # A word may be in two units, one within the other.
        words = {word for unit in prompt.units for word in content_of(prompt.text, unit)}
        inside.append((sum(map(changes.hidden, words)), len(words)))
        others = _outside(prompt.text, prompt.units)
        outside.append((sum(map(changes.touched, others)), len(others)))
    return {
        "n_prompts": len(inside),
        "n_refused": len(prompts) - len(inside),
        "private_words_hidden": share(inside),
        "other_words_changed": share(outside),
        "ms": _ms(outcomes),
    }


def of_public(texts: Sequence[str], outcomes: Sequence[Outcome | None]) -> dict[str, Any]:
    """Return the share of words changed in texts that hold nothing private."""
    changed: list[Share] = []
    for text, outcome in zip(texts, outcomes, strict=True):
        if outcome is not None:
            words, touched = words_in(text), Changes(text, outcome.stretches).touched
            changed.append((sum(map(touched, words)), len(words)))
    return {
        "n_prompts": len(changed),
        "n_refused": len(texts) - len(changed),
        "words_changed": share(changed),
        "ms": _ms(outcomes),
    }


def _ms(outcomes: Iterable[Outcome | None]) -> dict[str, float]:
    return median([outcome.seconds for outcome in outcomes if outcome is not None])
