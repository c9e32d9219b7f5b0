"""What is private in a text: each hidden run read by itself, in sight of the view.

Guarantee: the classes of a run are a function of the view and of its own characters; what is one
entity follows from classes and view. So a run may be replaced by another with the same classes, and
nothing else is read differently (docs/guarantees.md, theorem B).
"""

from __future__ import annotations

import hashlib
import math
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from sanitizer.detect.view import (
    RUN,
    Opened,
    Parted,
    Run,
    View,
    Word,
    has_no_blanks,
    is_everyday,
    opened,
)
from sanitizer.lm.reader import CLASSES, ELIGIBLE, TELLING, Ask, Floats, Reader, Scores
from sanitizer.progress import pulse
from sanitizer.randomness import secret_key
from sanitizer.storage.table import Cache
from sanitizer.text.layout import Layout
from sanitizer.text.syntax import Piece
from sanitizer.text.words import Unit, outside, overlapping

FACT = "FACT"
"""Class of what is told in everyday words."""
UNKNOWN = "TERM"
"""Class of a word on no list that is not surely public."""
MOST_READINGS = 4096
"""Texts whose readings are remembered; the one that was not asked for longest goes first."""
_KIND_OF = {"IDENTIFIER": "ID"}
"""What a class of the reader is called in a policy, where the names differ."""
_BESIDE = re.compile(r"[ \u00a0\u202f.,/&_'’ʼ:()%$€£#+\u2010\u2011\u2013-]{0,3}")
"""What may part neighbouring words of one entity."""
_AMOUNTS = frozenset(["MONEY", "NUMBER"])
_SIGN = "[$\u00a2-\u00a5\u20a0-\u20cf]"
_BEFORE = re.compile(rf"{_SIGN}[ \u00a0]?\Z")
_AFTER = re.compile(rf"[ \u00a0]?(?:{_SIGN}|[%\u2030])|,-(?![\w-])")
"""Signs that belong to a number that is written beside them."""
_IN_WORD = frozenset(".,:'’\u2010\u2011-")
_IN_NUMBER = ".,:"
"""What joins the parts of one word, and of one number."""
_LONGEST = 24
"""Words of the longest entity."""
_SLOT = "\0"
_FOREIGN = re.compile(
    r"""^[ \t]*(?P<fence>`{3,}|~{3,}).*?(?:^[ \t]*(?P=fence)[^\n]*|\Z)
    | ^[ \t]*>[^\n]*
    | <[A-Za-z\0!?][^<>]*>(?:.*</[^<>]*>|.*)
    | \[[A-Za-z\0][^\[\]]*\].*\[/[^\[\]]*\]
    | "[^"]*(?:"|\Z) | [“„”][^“”]*(?:[“”]|\Z) | «[^»]*(?:»|\Z) | »[^«]*(?:«|\Z) | 「[^」]*(?:」|\Z)
    | `[^`]*(?:`|\Z)
    | (?<![\w\0])'.*?(?:'(?![\w\0])|\Z) | (?<![\w\0])‘.*?(?:’(?![\w\0])|\Z)
    """,
    re.M | re.S | re.X,
)
"""What the user did not write: in fences, quoted lines, tags, quotation marks; one that is not
closed goes on to the end."""
MOST_ASKED = 1_500
"""Tokens of the longest text of a user that is read for what it needs; more is a document."""
TOGETHER = 0.7
"""How far the odds of a thing are raised towards the highest of its class in the text: chosen by
the texts that choose the reader's thresholds, where single odds leave half a column hidden."""

_T = TypeVar("_T")


class Finding(NamedTuple):
    """A stretch of the text that is private.

    Attributes:
        start, end: character offsets. kind: its class. score: the reader's share of all classes,
            at its surest word. visible: True if every word of it is visible: then the theorem says
            nothing of it. needed: the request seems to need it. age: it seems to be an age. usual:
            the same share as `score`, on average over all places where its hidden words stand.
    """

    start: int
    end: int
    kind: str
    score: float
    visible: bool
    needed: bool = False
    age: bool = False
    usual: float = 1.0


@dataclass(frozen=True, slots=True)
class Reading:
    """What a detector found in one text: offsets and classes, no text.

    Attributes:
        findings: ascending, never overlapping. everyday: hidden words that may be released, as
            offsets. language: of the visible words; None if no list fits. code: what stays as
            syntax, as offsets. pieces: all code of the text.
    """

    findings: tuple[Finding, ...]
    everyday: tuple[tuple[int, int], ...] = field(default=())
    language: str | None = None
    code: tuple[tuple[int, int], ...] = field(default=())
    pieces: tuple[Piece, ...] = field(default=())


class Labelled(NamedTuple):
    """What the reader says of one word: its class, None for none."""

    start: int
    end: int
    kind: str | None
    score: float
    begins: bool
    visible: bool
    needed: bool = False
    age: bool = False


class Pieces(Protocol):
    """A tokenizer; `mask` stands for a run, `line` for the end of a line."""

    mask: int
    line: int

    def placed(self, texts: Sequence[str]) -> list[list[tuple[int, int, int]]]:
        """Return the tokens of each text with offsets, (id, start, end), without special ones."""


class Detector:
    """Finds what is private in texts. Safe for many threads.

    Readings are remembered: a chat sends its whole history with each message. What is kept are
    offsets and classes, under keys that only this process can make. A key holds the name of the
    conversation, and so the tenant and the holder of an API key: nobody can time what another sent.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._key = secret_key()
        self._kept: Cache[bytes, object] = Cache(MOST_READINGS)
        self._lock = threading.Lock()

    @property
    def sha256(self) -> str:
        """Digest of the model."""
        return self._reader.sha256

    def once(self, make: Callable[[], _T], *of: object) -> _T:
        """Return what was made before of these values, else make and remember it.

        Args:
            make: returns offsets and classes, never None.
            of: all that it depends on; a repr must tell them apart.
        """
        digest = hashlib.blake2b(key=self._key, digest_size=32)
        for each in of:
            part = (each if isinstance(each, str) else repr(each)).encode("utf-8", "surrogatepass")
            digest.update(len(part).to_bytes(8) + part)
        key = digest.digest()
        with self._lock:
            found: Any = self._kept.use(key)
        if found is None:
            found = make()
            with self._lock:
                self._kept.keep(key, found, 0)
        known: _T = found
        return known

    def read(
        self,
        text: str,
        taken: Sequence[Unit] = (),
        declared: Sequence[tuple[int, int]] = (),
        thresholds: Mapping[str, float] | None = None,
        asks: bool = False,
        layout: Layout | None = None,
    ) -> Reading:
        """Find what is private in a text.

        Args:
            taken: identifiers and other stretches that are hidden already, ascending.
            declared: stretches that are visible text and no part of a finding, ascending.
            thresholds: class -> least share of all classes from which a word is hidden; for
                those that are not named the model's own.
            asks: also say of each thing whether the request needs it.
            layout: how its lines are read, if not as they are written.

        Raises:
            ModelError: the model failed.
        """
        spans = [(unit.start, unit.end, unit.kind) for unit in taken]
        view = opened(text, spans, declared, layout)
        least = {**self._reader.thresholds, **(thresholds or {})}
        return entities(view, self.labels(view, least, asks), least["alone"])

    def labels(self, view: Opened, least: Mapping[str, float], asks: bool) -> list[Labelled]:
        """Return what the reader says of all words, in order; `least` and `asks` as for `read`."""
        found, pieces = view.parted, self._reader.pieces
        runs = encode_runs(found, pieces)
        encoded = encode_view(found.view, pieces)
        ask, slots, shown = self._ask(found.view) if asks else (None, {}, {})
        read = self._reader.read(encoded, [(run.ids, run.firsts) for run in runs], ask)
        words = [(found.gaps[n] + w.start, found.gaps[n] + w.end) for n, w in found.view.words]
        said = [
            (word, shown.get(number))
            for number, word in enumerate(
                _decided(words, [True] * len(words), read.visible, least, True)
            )
        ]
        written = [
            run.written[word.start : word.end]
            for run, its in zip(found.runs, runs, strict=True)
            for word in its.words
        ]
        listed = iter([not w.isalpha() or len(w) == 1 or is_everyday(w) for w in written])
        each_run = zip(found.starts, found.runs, runs, read.runs, strict=True)
        for number, (start, run, its, scores) in enumerate(each_run):
            places = [(start + w.start, start + w.end) for w in its.words]
            known = [next(listed) for _ in places]
            ends = [*its.firsts, len(its.ids)][1:]
            decided = [
                # What the model has no piece for it cannot call public.
                word._replace(kind=word.kind or UNKNOWN)
                if pieces.unknown in its.ids[first : max(end, first + 1)]
                else word
                for word, first, end in zip(
                    _decided(places, known, scores, least, False), its.firsts, ends, strict=True
                )
            ]
            said += [(word, slots.get(number)) for word in _whole(run.written, start, decided)]
        return sorted(self._with_needed(said, read.needed))

    def _ask(self, view: View) -> tuple[Ask | None, dict[int, int], dict[int, int]]:
        """Return what the user wrote of a view, and the rows of its slots and visible words.

        None where nothing tells a request: a language without a list, or a long document.
        """
        own = asked(view)
        encoded = encode_view(own.view, self._reader.pieces)
        if view.language is None or len(encoded.ids) > MOST_ASKED:
            return None, {}, {}
        slots = {number: row for row, number in enumerate(own.slots)}
        shown = {number: len(slots) + row for row, number in enumerate(own.words)}
        return Ask(encoded.ids, [*encoded.slots, *encoded.words]), slots, shown

    def _with_needed(
        self, words: Sequence[tuple[Labelled, int | None]], odds: Floats
    ) -> Iterator[Labelled]:
        """Yield words with whether the request needs them: by class, and the states there.

        The odds of a thing lie between its own and the highest of its class: who asks for the sum
        of a column needs all of it.

        Args:
            words: with their rows in `odds`, float32 [n_asked, n_eligible + n_telling].
        """
        least, n = self._reader.least_needed, len(ELIGIBLE)
        tops: defaultdict[str, float] = defaultdict(lambda: -math.inf)
        for word, row in words:
            if row is not None and word.kind in ELIGIBLE:
                own = float(odds[row, ELIGIBLE.index(word.kind)])
                tops[word.kind] = max(own, tops[word.kind])
        for word, row in words:
            if row is None or word.kind is None or word.kind not in tops:
                yield word
                continue
            age, birth = (bool(odds[row, n + i] >= least[name]) for i, name in enumerate(TELLING))
            both = together(float(odds[row, ELIGIBLE.index(word.kind)]), tops[word.kind])
            needed = bool(both >= least[word.kind]) and not (word.kind == "DATE" and birth)
            yield word._replace(needed=needed, age=word.kind == "NUMBER" and age)


def together(own: Any, highest: Any) -> Any:
    """Return log odds of things from their own and the highest of their class in the text.

    Args:
        own, highest: floats, or arrays of one shape.
    """
    return own + TOGETHER * (highest - own)


def entities(view: Opened, said: Sequence[Labelled], alone: float) -> Reading:
    """Return what is private: neighbouring words of one class, unless one begins.

    Args:
        said: the words of the view with their classes, in order. alone: least share from which
            visible words alone are an entity.
    """
    plain, its = view.decoded, view.parted.view
    shown, closed = plain.inside(view.shown), plain.inside(view.closed)
    declared = [word for word in said if shown and overlapping(shown, word.start, word.end)]
    if shown:
        said = [word for word in said if not overlapping(shown, word.start, word.end)]
    joined = [
        each
        for each in _joined(plain.text, said, closed)
        if not each.visible or (each.score >= alone and not _is_rest(plain.text, each, declared))
    ]
    places = plain.outside([(each.start, each.end) for each in joined])
    usual = _usual(plain.text, said)
    findings: list[Finding] = []
    for each, (start, end) in zip(joined, places, strict=True):
        own = [share for *_, share in overlapping(usual, each.start, each.end)] or [each.score]
        found = each._replace(start=start, end=end, usual=sum(own) / len(own))
        if each.kind in _AMOUNTS:
            found = _with_signs(view, found, findings[-1].end if findings else 0)
        findings.append(found)
    passing = [(word.start, word.end) for word in said if word.kind is None and not word.visible]
    everyday = tuple(plain.outside(passing))
    return Reading(tuple(findings), everyday, its.language, view.code, view.pieces)


def _is_rest(text: str, each: Finding, declared: Sequence[Labelled]) -> bool:
    """Return True for "and" of "14 and 15 May" where both dates are declared: it tells nothing."""
    beside = overlapping(declared, each.start - 2, each.end + 2)
    return text[each.start : each.end].islower() and any(w.kind == each.kind for w in beside)


def _usual(text: str, said: Sequence[Labelled]) -> list[tuple[int, int, float]]:
    """Return the hidden words with their share on average over all places where each stands."""
    shares: dict[str, list[float]] = {}
    hidden = [word for word in said if not word.visible]
    for word in hidden:
        shares.setdefault(text[word.start : word.end], []).append(word.score)
    means = {form: sum(each) / len(each) for form, each in shares.items()}
    return [(word.start, word.end, means[text[word.start : word.end]]) for word in hidden]


def _decided(
    places: Sequence[tuple[int, int]],
    known: Sequence[bool],
    scores: Scores,
    thresholds: Mapping[str, float],
    visible: bool,
) -> list[Labelled]:
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
        said.append(Labelled(start, end, chosen, share, begins > 0, visible))
    return said


def _whole(written: str, start: int, said: list[Labelled]) -> list[Labelled]:
    """Return the words of a run, those that one mark joins read as one.

    A number such as "1,240.50" has the class of its surest part; a name such as "Ji-woo" begins
    once.

    Args:
        start: offset of the run in the text.
    """
    whole: list[Labelled] = []
    first = 0
    for word in said:
        gap = written[whole[-1].end - start : word.start - start] if whole else " "
        digits = whole and written[whole[-1].end - start - 1].isdecimal()
        whole.append(word)
        if gap not in _IN_WORD:
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


def _joined(text: str, said: Sequence[Labelled], taken: Sequence[tuple[int, int]]) -> list[Finding]:
    """Return the entities; only what is between words is looked at in the text."""
    found: list[Finding] = []
    last: Labelled | None = None
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
            if before.visible and not word.visible:  # its first hidden word decides
                found[-1] = found[-1]._replace(needed=word.needed, age=word.age)
            n_words += 1
        elif word.kind is not None:
            start, end, _, score, _, *told = word
            found.append(Finding(start, end, word.kind, score, *told))
            n_words = 1
        last = word
    return found


def _with_signs(view: Opened, number: Finding, least: int) -> Finding:
    """Return a number with the signs of currency or share beside it.

    Args:
        least: where the finding before ends.
    """
    closed = view.closed
    before = _BEFORE.search(view.text, max(0, number.start - 2), number.start)
    after = _AFTER.match(view.text, number.end)
    start = before.start() if before else number.start
    end = after.end() if after else number.end
    if start < least or overlapping(closed, start, number.start):
        start = number.start
    if overlapping(closed, number.end, end):
        end = number.end
    return number._replace(start=start, end=end)


class Asked(NamedTuple):
    """What a user wrote of a view, with the numbers of its slots and words in the whole view."""

    view: View
    slots: tuple[int, ...]
    words: tuple[int, ...]


def asked(view: View) -> Asked:
    r"""Return what of a view the user wrote.

    >>> view = opened('Ask Qvarn: "does Zorb pay?" today').parted.view
    >>> asked(view).view.shown, asked(view).slots
    (('Ask ', ':  today'), (0,))
    """
    flat = _SLOT.join(view.shown)
    foreign = [match.span() for match in _FOREIGN.finditer(flat)]
    if not foreign:
        return Asked(view, tuple(range(len(view.slots))), tuple(range(len(view.words))))
    bases = [0]
    for stretch in view.shown[:-1]:
        bases.append(bases[-1] + len(stretch) + 1)
    places = [base - 1 for base in bases[1:]]
    words = [(bases[n] + w.start, bases[n] + w.end) for n, w in view.words]
    shown, slots = [""], []
    kept: list[int] = []
    its: list[tuple[int, Word]] = []
    number = at = 0
    for start, end in outside(foreign, 0, len(flat)):
        while at < len(places) and places[at] < start:
            at += 1
        low = start
        for place in [*(p for p in places[at:] if p < end), end]:
            while number < len(words) and words[number][0] < low:
                number += 1
            while number < len(words) and words[number][1] <= place:
                shift = len(shown[-1]) - low
                its.append((len(shown) - 1, Word(*(each + shift for each in words[number]))))
                kept.append(number)
                number += 1
            shown[-1] += flat[low:place]
            if place < end:
                slots.append(at)
                shown.append("")
                at += 1
            low = place + 1
    own = View(tuple(shown), tuple(view.slots[i] for i in slots), tuple(its), view.language)
    return Asked(own, tuple(slots), tuple(kept))


class EncodedView(NamedTuple):
    """Tokens of a view.

    Attributes:
        ids: tokens. slots: place of each slot's token. words: place of each visible word's first.
    """

    ids: list[int]
    slots: list[int]
    words: list[int]


class EncodedRun(NamedTuple):
    """Tokens of a run.

    Attributes:
        ids: tokens; none for an identifier. words: what is labelled, as offsets in the run; in
            scripts without blanks each piece is such a word. firsts: place of each one's first
            token.
    """

    ids: list[int]
    words: tuple[Word, ...]
    firsts: list[int]


def encode_view(view: View, pieces: Pieces) -> EncodedView:
    """Return the tokens of a view: a mask for a run, the kind's name for an identifier."""
    kinds = sorted({*view.slots} - {RUN})
    rows = [line for shown in view.shown for line in shown.split("\n")]
    found = pieces.placed([*rows, *(kind.lower().replace("_", " ") for kind in kinds)])
    named = {kind: [each[0] for each in found[len(rows) + i]] for i, kind in enumerate(kinds)}
    ids: list[int] = []
    slots: list[int] = []
    words: list[int] = []
    number = row = 0
    for stretch, shown in enumerate(view.shown):
        at = 0
        if stretch % 100 == 99:
            pulse()
        for line in shown.split("\n"):
            tokens, base, place = found[row], len(ids), 0
            while number < len(view.words) and view.words[number][0] == stretch:
                start = view.words[number][1].start - at
                if start >= len(line):
                    break
                while place < len(tokens) - 1 and tokens[place][2] <= start:
                    place += 1
                # A tokenizer may drop what it does not know: that is read with what is before it.
                words.append(base + place if tokens else max(0, base - 1))
                number += 1
            ids += [token for token, _, _ in tokens]
            at += len(line) + 1
            row += 1
            if at <= len(shown):
                ids.append(pieces.line)
        if stretch < len(view.slots):
            slots.append(len(ids))
            kind = view.slots[stretch]
            ids += [pieces.mask] if kind == RUN else named[kind] or [pieces.mask]
    return EncodedView(ids, slots, words)


def encode_runs(parted: Parted, pieces: Pieces) -> list[EncodedRun]:
    """Return the tokens of each run; those of one do not depend on another."""
    found = pieces.placed([run.written if run.words else "" for run in parted.runs])
    return [_encoded(run, tokens) for run, tokens in zip(parted.runs, found, strict=True)]


def _encoded(run: Run, tokens: Sequence[tuple[int, int, int]]) -> EncodedRun:
    words: list[Word] = []
    firsts: list[int] = []
    place = 0
    has_blanks = run.written.isascii()
    for word in run.words:
        while place < len(tokens) - 1 and tokens[place][2] <= word.start:
            place += 1
        if has_blanks or not has_no_blanks(run.written[word.start : word.end]):
            words.append(word)
            firsts.append(place)
            continue
        at, low = place, word.start
        while at < len(tokens) and tokens[at][1] < word.end:
            last = at + 1 >= len(tokens) or tokens[at + 1][1] >= word.end
            high = word.end if last else min(tokens[at][2], word.end)
            if high > low:
                words.append(Word(low, high))
                firsts.append(at)
                low = high
            at += 1
        if low < word.end:  # no token at all
            words.append(Word(low, word.end))
            firsts.append(place)
    return EncodedRun([token for token, _, _ in tokens] if run.words else [], tuple(words), firsts)
