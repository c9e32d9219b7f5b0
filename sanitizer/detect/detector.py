"""What is private in a text: each hidden run read by itself, in sight of the view.

Guarantee: the classes of a run are a function of the view and of its own characters; what is one
entity follows from classes and view. So a run may be replaced by another with the same classes, and
nothing else is read differently (docs/guarantees.md, theorem B).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sanitizer.detect.encoding import encode_runs, encode_view
from sanitizer.detect.layout import Decoded, opened
from sanitizer.detect.memory import Memory
from sanitizer.detect.view import Document, is_everyday, languages
from sanitizer.lm import Models, Reader, Scores
from sanitizer.lm.reader import CLASSES
from sanitizer.text import Piece, Unit, merged, overlapping

FACT = "FACT"
"""Class of what is told in everyday words."""
UNKNOWN = "TERM"
"""Class of a word on no list that is not surely public."""
_KIND_OF = {"IDENTIFIER": "ID"}
"""What a class of the reader is called in a policy, where the names differ."""
_BESIDE = re.compile(r"[ \u00a0\u202f.,/&_'’ʼ:()%$€£#+\u2010\u2011\u2013-]{0,3}")
"""What may part neighbouring words of one entity."""
_AMOUNTS = frozenset(["MONEY", "NUMBER"])
_SIGN = "[$\u00a2-\u00a5\u20a0-\u20cf]"
_BEFORE = re.compile(rf"{_SIGN}[ \u00a0]?\Z")
_AFTER = re.compile(rf"[ \u00a0]?(?:{_SIGN}|[%\u2030])|,-(?![\w-])")
"""Signs that belong to a number that is written beside them."""
_IN_WORD = re.compile(r"[.,:'’\u2010\u2011-]")
_IN_NUMBER = ".,:"
"""What joins the parts of one word, and of one number."""
_LONGEST = 24
"""Words of the longest entity."""


class Finding(NamedTuple):
    """A stretch of the text that is private.

    Attributes:
        start, end: character offsets. kind: its class. score: the reader's share of all classes,
            at its surest word. visible: True if every word of it is visible: then the theorem says
            nothing of it.
    """

    start: int
    end: int
    kind: str
    score: float
    visible: bool

    @property
    def source(self) -> str:
        """What found it, in words."""
        return f"reader {self.kind} {self.score:.2f}"


@dataclass(frozen=True, slots=True)
class Reading:
    """What a detector found in one text.

    Attributes:
        findings: ascending, never overlapping. everyday: hidden words that may be released, as
            offsets. n_visible: words visible by the lists. language: of the visible words; None if
            no list fits. code: what stays as syntax, as offsets. pieces: all code of the text.
    """

    findings: tuple[Finding, ...]
    everyday: tuple[tuple[int, int], ...] = field(default=())
    n_visible: int = 0
    language: str | None = None
    code: tuple[tuple[int, int], ...] = field(default=())
    pieces: tuple[Piece, ...] = field(default=())


class _Said(NamedTuple):
    """What the reader says of one word: its class, None for none."""

    start: int
    end: int
    kind: str | None
    score: float
    begins: bool
    visible: bool


class Detector:
    """Finds what is private in texts. Safe for many threads.

    Args:
        reader: the model.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.memory = Memory()

    @property
    def sha256(self) -> str:
        """Digest of the model."""
        return self._reader.sha256

    def read(
        self,
        text: str,
        taken: Sequence[Unit] = (),
        declared: Sequence[tuple[int, int]] = (),
        thresholds: Mapping[str, float] | None = None,
        owner: str = "",
    ) -> Reading:
        """Find what is private in a text.

        Args:
            taken: identifiers and other stretches that are hidden already, ascending.
            declared: stretches that are visible text and no part of a finding, ascending.
            thresholds: class -> least share of all classes from which a word is hidden; for
                those that are not named the model's own.
            owner: whose readings are remembered apart from all others': the conversation's name.

        Raises:
            ModelError: the model failed.
        """
        least = {**self._reader.thresholds, **(thresholds or {})}
        spans = [(unit.start, unit.end, unit.kind) for unit in taken]
        of = ("reading", owner, text, spans, declared, sorted(least.items()))
        return self.memory.get(of, lambda: self._read(text, taken, declared, least))

    def _read(
        self,
        text: str,
        taken: Sequence[Unit],
        declared: Sequence[tuple[int, int]],
        thresholds: Mapping[str, float],
    ) -> Reading:
        read = opened(text, [(u.start, u.end, u.kind) for u in taken], declared)
        plain, found = read.decoded, read.document
        shown = merged([*declared, *read.code])
        closed = merged([*((unit.start, unit.end) for unit in taken), *shown])
        said = self._said(found, thresholds)
        said = [each for each in said if not _within(plain, shown, each)]
        entities = [
            each
            for each in _entities(plain.text, said, plain.inside(closed))
            if not each.visible or each.score >= thresholds["alone"]
        ]
        findings: list[Finding] = []
        for each in entities:
            placed = each._replace(start=plain.origin(each.start), end=plain.origin(each.end))
            least = findings[-1].end if findings else 0
            findings.append(_with_signs(text, placed, closed, least))
        return Reading(
            tuple(findings),
            tuple(
                (plain.origin(each.start), plain.origin(each.end))
                for each in said
                if each.kind is None and not each.visible
            ),
            len(found.view.words),
            found.view.language,
            read.code,
            read.pieces,
        )

    def _said(self, found: Document, thresholds: Mapping[str, float]) -> list[_Said]:
        """Return what the reader says of all words, in order."""
        view, runs = (
            encode_view(found.view, self._reader.pieces),
            encode_runs(found, self._reader.pieces),
        )
        read = self._reader.read(view, [(run.ids, run.firsts) for run in runs])
        said: list[_Said] = []
        words = [(found.gaps[n] + w.start, found.gaps[n] + w.end) for n, w in found.view.words]
        said += _decided(words, [True] * len(words), read.visible, thresholds, True)
        for start, run, its, scores in zip(found.starts, found.runs, runs, read.runs, strict=True):
            places = [(start + w.start, start + w.end) for w in its.words]
            known = [_is_known(run.written[w.start : w.end]) for w in its.words]
            decided = _decided(places, known, scores, thresholds, False)
            ends = [*its.firsts, len(its.ids)][1:]
            decided = [
                # What the model has no piece for it cannot call public.
                word._replace(kind=word.kind or UNKNOWN)
                if self._reader.pieces.unknown in its.ids[first : max(end, first + 1)]
                else word
                for word, first, end in zip(decided, its.firsts, ends, strict=True)
            ]
            said += _whole(run.written, start, decided)
        return sorted(said)


def _is_known(word: str) -> bool:
    """Return True for numbers, single letters, and words on a list of any language."""
    return not word.isalpha() or len(word) == 1 or is_everyday(word)


def _decided(
    places: Sequence[tuple[int, int]],
    known: Sequence[bool],
    scores: Scores,
    thresholds: Mapping[str, float],
    visible: bool,
) -> list[_Said]:
    """Return the likeliest class of each word, None where all classes together are too unlikely."""
    if not places:
        return []
    odds = np.exp(scores.classes - scores.classes.max(1, keepdims=True))
    shares = 1 - odds[:, 0] / odds.sum(1)
    best = odds[:, 1:].argmax(1)
    said = []
    for (start, end), listed, share, kind, begins in zip(
        places, known, shares.tolist(), best.tolist(), scores.begins.tolist(), strict=True
    ):
        name = CLASSES[kind]
        least = thresholds[name]
        if visible:
            least = max(least, thresholds["visible"])
        elif not listed:
            least = min(least, thresholds["unknown"])
        # A word on no list that is not surely public stays hidden, whatever it is.
        unsure = not visible and not listed and share < thresholds[name]
        chosen = None
        if share >= least:
            chosen = UNKNOWN if unsure else _KIND_OF.get(name, name)
        said.append(_Said(start, end, chosen, share, begins > 0, visible))
    return said


def _whole(written: str, start: int, said: list[_Said]) -> list[_Said]:
    """Return the words of a run, those that one mark joins read as one.

    A number such as "1,240.50" has the class of its surest part; a name such as "Ji-woo" begins
    once.

    Args:
        start: offset of the run in the text.
    """
    whole: list[_Said] = []
    first = 0
    for word in said:
        gap = written[whole[-1].end - start : word.start - start] if whole else " "
        digits = whole and written[whole[-1].end - start - 1].isdecimal()
        whole.append(word)
        if not _IN_WORD.fullmatch(gap):
            first = len(whole) - 1
        elif not (gap in _IN_NUMBER and digits and written[word.start - start].isdecimal()):
            first = len(whole) - 1
            whole[-1] = word._replace(begins=word.begins and word.kind != whole[-2].kind)
        else:
            surest = max(whole[first], word, key=lambda each: each.score)
            whole[first:] = [
                each._replace(kind=surest.kind, score=surest.score) for each in whole[first:]
            ]
            whole[-1] = whole[-1]._replace(begins=False)
    return whole


def _within(plain: Decoded, shown: Sequence[tuple[int, int]], word: _Said) -> bool:
    return bool(overlapping(shown, plain.origin(word.start), plain.origin(word.end)))


def _entities(text: str, said: Sequence[_Said], taken: Sequence[tuple[int, int]]) -> list[Finding]:
    """Return entities: neighbouring words of one class, unless one begins.

    Only what is between words is looked at in the text.
    """
    found: list[Finding] = []
    last: _Said | None = None
    n_words = 0
    for word in said:
        if (
            last is not None
            and word.kind is not None
            and last.kind == word.kind
            and not word.begins
            and n_words < _LONGEST
            and _BESIDE.fullmatch(text, last.end, word.start)
            and not overlapping(taken, last.end, word.start)
        ):
            before = found[-1]
            found[-1] = before._replace(
                end=word.end,
                score=max(before.score, word.score),
                visible=before.visible and word.visible,
            )
            n_words += 1
        elif word.kind is not None:
            found.append(Finding(word.start, word.end, word.kind, word.score, word.visible))
            n_words = 1
        last = word
    return found


def _with_signs(
    text: str, number: Finding, closed: Sequence[tuple[int, int]], least: int
) -> Finding:
    """Return a number with the signs of currency or share beside it.

    Args:
        closed: stretches that are no part of it, ascending. least: where the finding before ends.
    """
    if number.kind not in _AMOUNTS:
        return number
    before = _BEFORE.search(text, max(0, number.start - 2), number.start)
    after = _AFTER.match(text, number.end)
    start = before.start() if before else number.start
    end = after.end() if after else number.end
    if start < least or overlapping(closed, start, number.start):
        start = number.start
    if overlapping(closed, number.end, end):
        end = number.end
    return number._replace(start=start, end=end)


def load_lists() -> None:
    """Load the lists of all languages; raise ModelError if one is missing or damaged."""
    languages()
    is_everyday("")


def detector_for(models: Models) -> Detector:
    """Return a detector over the packaged reader.

    Raises:
        ModelError: a model or a list is missing or damaged.
    """
    return Detector(models.reader())
