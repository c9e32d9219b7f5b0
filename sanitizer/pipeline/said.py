"""What the API said in a conversation, and how it goes back when a chat sends its history again.

An answer is kept as the API sent it, with what the user saw in place of each stand-in. A text that
comes back is aligned with the answers: what was restored leaves as the stand-in that came, what the
API wrote leaves as it is, and only what was put in between is the user's. So a guess that the API
writes is never compared with an original (docs/guarantees.md, "An API that chooses texts").

Two answers may look alike to the user though only one was restored ("1234" and "<PIN_1>"). Which
one comes back is told by its place in the history, never by what is in it.
"""

from __future__ import annotations

import json
import re
import threading
from bisect import bisect_left, bisect_right
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from typing import NamedTuple

from sanitizer.results import Record, Replacement, SanitizedText
from sanitizer.storage import Vault, message_key
from sanitizer.text import DeclaredText

MAX_CONVERSATIONS = 256
"""Conversations whose answers are held ready; those of others are read from the vault again."""
MIN_RUN = 3
"""Tokens of the shortest stretch that continues an answer after an insertion."""
MIN_START = 8
"""Tokens of the shortest stretch with which an answer is recognized, unless it is all of it."""
MAX_COMING = 16
"""Answers of a conversation that are known before they have come to their end."""
MAX_TRIED = 64
"""Places of an answer that are tried for one stretch."""

_QUOTED = r"^[ \t]*(?:>[ \t]?)+"
_TOKEN = re.compile(rf"{_QUOTED}|(\w+|[^\w\s])", re.MULTILINE)
"""A word or a sign; marks of a quotation before a line are none, since applications add them."""
_CUT = re.compile(r"\s{0,9}(?:\.\.\.|…|\[(?:\.\.\.|…|truncated)\])?\s{0,9}\Z")
"""What an application writes where it cuts an answer off."""
_KIND = "answer"


class Piece(NamedTuple):
    """A stretch of an answer: as it was sent, and as the user saw it; equal unless restored."""

    sent: str
    shown: str


class Passage(NamedTuple):
    """One text of an answer.

    Attributes:
        role: in which it may come back. sent, shown: all of it, as it came and as the user saw it.
        pieces: the text by which it is recognized, in order.
        place: how many texts of this role come before it in the history.
        aside: name of the field in which it stands beside the message, as a thought does; "" for
            the message. Applications may leave such texts out, so they are counted apart.
    """

    role: str
    sent: str
    shown: str
    pieces: tuple[Piece, ...]
    place: int = 0
    aside: str = ""


class Resent(NamedTuple):
    """One text of a history that comes back.

    Attributes:
        role: in which it comes. shown: all of it. text: by what it is recognized; shown, if None.
        aside: as of a `Passage`.
    """

    role: str
    shown: str
    text: str | None = None
    aside: str = ""


class _Known(NamedTuple):
    """A text of an answer as it would come back unedited; fields as of a `Passage`."""

    place: int
    sent: str
    aside: str


_Distance = Callable[[int, str], tuple[bool, int]]
Coming = Callable[[], list[Passage]]
"""Function that returns what has come of an answer until now."""


class Segment(NamedTuple):
    """A stretch of a text that the API wrote.

    Attributes:
        start, end: character offsets in the text. sent: what leaves in its place.
    """

    start: int
    end: int
    sent: str


class Said:
    """The answers of all conversations that one vault holds. Safe for many threads.

    Args:
        vault: keeps them, so that restarts and replicas know them too.
        record: of a text that goes back as it came.
    """

    def __init__(self, vault: Vault, record: Record) -> None:
        self._vault, self._record = vault, record
        # Of the maps below, and never held while the vault is asked or an answer is read.
        self._lock = threading.Lock()
        self._held: OrderedDict[str, _Conversation] = OrderedDict()
        self._coming: OrderedDict[str, list[Coming]] = OrderedDict()

    def remember(self, conversation: str, passages: Sequence[Passage]) -> None:
        """Keep the texts of one answer; raise VaultError if they cannot be kept."""
        with self._current(conversation, so_far=False) as held:
            new = [passage for passage in passages if not held.keeps(passage)]
            if not new:
                return
            turn = _encoded(new, self._record)
            while True:
                kept = self._vault.put_first(self._key(conversation, held.n_turns), turn)
                held.add(_decoded(kept))
                if kept == turn:
                    return

    def align(
        self, conversation: str, history: Sequence[Resent]
    ) -> list[str | tuple[Segment, ...]]:
        """Return what leaves for each text of a history.

        It is the whole text as it was sent, or the stretches that the API wrote, ascending and
        apart, as offsets in `Resent.text`; none if nothing of it is known.
        """
        with self._current(conversation) as held:
            return held.align(history)

    def watch(self, conversation: str, coming: Coming) -> None:
        """Let the texts of an answer be known that is still coming; the last of many are."""
        with self._lock:
            waiting = self._coming.setdefault(conversation, [])
            self._coming.move_to_end(conversation)
            waiting.append(coming)
            del waiting[:-MAX_COMING]
            if len(self._coming) > MAX_CONVERSATIONS:
                self._coming.popitem(last=False)

    def unwatch(self, conversation: str, coming: Coming) -> None:
        """Let an answer go that has come to its end."""
        with self._lock:
            waiting = [each for each in self._coming.get(conversation, []) if each != coming]
            self._coming[conversation] = waiting
            if not waiting:
                del self._coming[conversation]

    def restored(self, conversation: str, role: str) -> frozenset[str]:
        """Return the stand-ins that were restored in the texts of one role."""
        with self._current(conversation) as held:
            return frozenset(held.restored[role])

    @contextmanager
    def _current(self, conversation: str, so_far: bool = True) -> Iterator[_Conversation]:
        """Yield the answers of a conversation, those included that another process kept.

        Those too that are still coming, if `so_far`.
        No other thread has them meanwhile; those of other conversations are free.
        """
        with self._lock:
            held = self._held.get(conversation)
            if held is None:
                held = self._held[conversation] = _Conversation()
            self._held.move_to_end(conversation)
            if len(self._held) > MAX_CONVERSATIONS:
                self._held.popitem(last=False)
            waiting = tuple(self._coming.get(conversation, ())) if so_far else ()
        with held.lock:
            while (kept := self._vault.get(self._key(conversation, held.n_turns))) is not None:
                held.add(_decoded(kept))
            for coming in waiting:
                held.add_so_far(coming())
            yield held

    def _key(self, conversation: str, turn: int) -> bytes:
        return message_key(self._vault.secret, _KIND, conversation, str(turn))


def declared(text: str, segments: Iterable[Segment]) -> DeclaredText:
    """Return a text with what the API sent in place of its segments, declared public."""
    written: list[str] = []
    spans: list[tuple[int, int]] = []
    at = length = 0
    for start, end, sent in segments:
        written += [text[at:start], sent]
        length += start - at
        if spans and not text[at:start].strip() and at:
            spans[-1] = (spans[-1][0], length + len(sent))
        else:
            spans.append((length, length + len(sent)))
        length += len(sent)
        at = end
    return DeclaredText("".join([*written, text[at:]]), tuple(spans))


class _Conversation:
    """The answers of one conversation.

    Attributes:
        lock: held while the answers are read or added to.
        n_turns: answers read so far. restored: role -> stand-ins that were restored.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.n_turns = 0
        self.restored: defaultdict[str, set[str]] = defaultdict(set)
        self._pieces: defaultdict[tuple[str, str, int], list[tuple[Piece, ...]]] = defaultdict(list)
        self._exact: defaultdict[tuple[str, str], list[_Known]] = defaultdict(list)
        self._aligners: defaultdict[str, _Aligner] = defaultdict(_Aligner)
        self._unkept: set[Passage] = set()  # known so far as they came, and not in the vault

    def keeps(self, passage: Passage) -> bool:
        """Return True if it is known, and from the vault."""
        return self.knows(passage) and passage not in self._unkept

    def knows(self, passage: Passage) -> bool:
        """Return True if just this is the latest that would come back there."""
        found = self._exact.get((passage.role, passage.shown), [])
        return bool(found) and found[-1] == (passage.place, passage.sent, passage.aside)

    def add(self, passages: Iterable[Passage]) -> None:
        """Add the texts of one answer."""
        self.n_turns += 1
        for passage in passages:
            self._unkept.discard(passage)
            role, sent, shown, pieces, place, aside = passage
            self._exact[role, shown].append(_Known(place, sent, aside))
            self._aligners[role].add(pieces, place, aside)
            self._pieces[role, aside, place].append(pieces)
            self.restored[role] |= {p.sent for p in pieces if p.sent != p.shown}

    def add_so_far(self, passages: Iterable[Passage]) -> None:
        """Add what has come of an answer, if it is new."""
        new = [passage for passage in passages if not self.knows(passage)]
        if new:
            self.add(new)
            self.n_turns -= 1
            self._unkept.update(new)

    def align(self, history: Sequence[Resent]) -> list[str | tuple[Segment, ...]]:
        """Return what leaves for each text of a history; see `Said.align`."""
        n_of_role: Counter[tuple[str, str]] = Counter()
        places = []
        for each in history:
            places.append(n_of_role[each.role, each.aside])
            n_of_role[each.role, each.aside] += 1
        found = [self._exact.get((each.role, each.shown), []) for each in history]
        moved = self._moved(history, places, found)
        aligned: list[str | tuple[Segment, ...]] = []
        for each, place, known in zip(history, places, found, strict=True):
            expected = place + moved.get((each.role, each.aside), 0)
            if known:
                distance = partial(_distance, expected, each.aside)
                # The latest of those that are nearest: an answer may have been asked for again.
                nearest = min(reversed(known), key=lambda one: distance(one.place, one.aside))
                aligned.append(nearest.sent)
            else:
                cut = self._cut_off(each, expected) if each.text is None else None
                aligned.append(cut or tuple(self._aligned(each, expected)))
        return aligned

    def _aligned(self, text: Resent, place: int) -> list[Segment]:
        read = text.shown if text.text is None else text.text
        return self._aligners[text.role].align(read, place, text.aside)

    def _cut_off(self, resent: Resent, place: int) -> tuple[Segment, ...] | None:
        """Return the stretches of a text that is the beginning or the end of the answer there.

        A restored stretch that is cut leaves as its stand-in: what is left of it may be most of
        the original.
        """
        text = resent.shown
        for pieces in reversed(self._pieces.get((resent.role, resent.aside, place), [])):
            whole = "".join(piece.shown for piece in pieces)
            end = _CUT.search(text)
            begun = text[: end.start()] if end else text
            if begun and whole.startswith(begun):
                return tuple(_stretches(pieces, text, begun, 0))
            if text and whole.endswith(text):
                return tuple(_stretches(pieces, text, text, len(whole) - len(text)))
        return None

    def _moved(
        self, history: Sequence[Resent], places: Sequence[int], found: Sequence[Sequence[_Known]]
    ) -> dict[tuple[str, str], int]:
        """Return by how many places a history was cut off at its beginning, for each role.

        Each text votes for all places where it may come from: the true one gets all votes. Those
        known from one place alone are no better, since whether there is another may be a secret.
        """
        shifts: defaultdict[tuple[str, str], Counter[int]] = defaultdict(Counter)
        for each, place, known in zip(history, places, found, strict=True):
            nearest = [one.place - place for one in known if one.aside == each.aside]
            shifts[each.role, each.aside].update(set(nearest[-MAX_TRIED:]))
        return {
            role: min(counts, key=lambda shift: (-counts[shift], abs(shift)))
            for role, counts in shifts.items()
            if counts
        }


def _distance(expected: int, stands: str, place: int, aside: str) -> tuple[bool, int]:
    """Return how far a text of an answer is from where one of a history is expected."""
    return aside != stands, abs(place - expected)


def _stretches(pieces: Sequence[Piece], text: str, read: str, skipped: int) -> Iterator[Segment]:
    """Yield the segments of a text that is a part of an answer, without what was cut off.

    Args:
        read: the part. skipped: characters of the answer before it.
    """
    at = -skipped
    for sent, shown in pieces:
        start, end = max(0, at), min(len(read), at + len(shown))
        if start < end:
            yield Segment(start, end, text[start:end] if sent == shown else sent)
        at += len(shown)


class _Restored(NamedTuple):
    """A restored stretch: offsets in what the user saw, and the stand-in."""

    start: int
    end: int
    sent: str


class _Run(NamedTuple):
    """Tokens of a text that equal tokens of an answer: first of the text, of the answer, number."""

    first: int
    at: int
    n: int


class _Tokens:
    """Tokens of a text with their character offsets; white space tells nothing."""

    def __init__(self, text: str, base: int = 0) -> None:
        spans = [match.span(1) for match in _TOKEN.finditer(text) if match[1]]
        self.words = [text[start:end] for start, end in spans]
        self.starts = [base + start for start, _ in spans]
        self.ends = [base + end for _, end in spans]


class _Aligner:
    """The texts of one role, one behind the other, and where each run of tokens occurs in them."""

    def __init__(self) -> None:
        self._words: list[str | None] = []  # None between two texts
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._restored: list[_Restored] = []
        self._restored_starts: list[int] = []
        self._bounds: list[int] = []  # first token of each text
        self._history: list[tuple[int, str]] = []  # place of each text, and where it is aside
        self._whole: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
        self._places: defaultdict[tuple[str | None, ...], list[int]] = defaultdict(list)
        self._n_placed = 0
        self._length = 0

    def add(self, pieces: Sequence[Piece], place: int, aside: str) -> None:
        """Add a text."""
        base = at = self._length
        for piece in pieces:
            if piece.sent != piece.shown:
                self._restored.append(_Restored(at, at + len(piece.shown), piece.sent))
                self._restored_starts.append(at)
            at += len(piece.shown)
        tokens = _Tokens("".join(piece.shown for piece in pieces), base)
        first = len(self._words)
        self._bounds.append(first)
        self._history.append((place, aside))
        self._whole[tuple(tokens.words)].append(first)
        self._words += [*tokens.words, None]
        self._starts += [*tokens.starts, at]
        self._ends += [*tokens.ends, at]
        self._length = at + 1

    def align(self, text: str, place: int, aside: str) -> list[Segment]:
        """Return the stretches of a text that are of these texts, ascending and apart.

        Args:
            text: of a history. place, aside: where it is expected there.
        """
        distance = partial(_distance, place, aside)
        tokens = _Tokens(text)
        if not tokens.words or not self._words:
            return []
        whole = self._whole.get(tuple(tokens.words))
        if whole:
            first = min(reversed(whole), key=lambda at: distance(*self._placed(at)))
            runs = [_Run(0, first, len(tokens.words))]
        else:
            self._place()
            runs = self._runs(tokens.words, distance)
        return list(chain.from_iterable(self._segments(text, tokens, run) for run in runs))

    def _place(self) -> None:
        """Note where the runs of the texts that are new occur."""
        last = len(self._words) - MIN_RUN
        for at in range(self._n_placed, last + 1):
            self._places[tuple(self._words[at : at + MIN_RUN])].append(at)
        self._n_placed = max(self._n_placed, last + 1)

    def _placed(self, at: int) -> tuple[int, str]:
        """Return the place of the text of a token, and in which field it is aside."""
        return self._history[self._text_of(at)]

    def _runs(self, words: Sequence[str], distance: _Distance) -> list[_Run]:
        """Return equal runs from the left: they go on in one text, or begin as a long one."""
        runs: list[_Run] = []
        i = done = 0
        while i + MIN_RUN <= len(words):
            places = self._places.get(tuple(words[i : i + MIN_RUN]), [])
            run = self._next(words, i, places, distance, runs[-1] if runs else None)
            if run is None:
                i += 1
                continue
            back = self._back(words, run, done, runs[-1] if runs else None)
            runs.append(back)
            i = done = back.first + back.n
        return runs

    def _next(
        self,
        words: Sequence[str],
        i: int,
        places: Sequence[int],
        distance: _Distance,
        before: _Run | None,
    ) -> _Run | None:
        """Return the run that begins at a token: of the same text as the last run, if it can be."""
        if not places:
            return None
        if before is not None:
            end = before.at + before.n
            following = bisect_left(places, end)
            if following < len(places) and self._text_of(places[following]) == self._text_of(
                before.at
            ):
                return self._extended(words, i, places[following])
        half = MAX_TRIED // 2
        tried = [*places[:half], *places[-half:]] if len(places) > MAX_TRIED else places
        longest = max(
            (self._extended(words, i, at) for at in tried),
            key=lambda run: (run.n, *(-far for far in distance(*self._placed(run.at)))),
        )
        first = self._bounds[self._text_of(longest.at)]
        is_all = longest.at == first and self._words[first + longest.n] is None
        return longest if longest.n >= MIN_START or is_all else None

    def _extended(self, words: Sequence[str], i: int, at: int) -> _Run:
        n = MIN_RUN
        while i + n < len(words) and words[i + n] == self._words[at + n]:
            n += 1
        return _Run(i, at, n)

    def _back(self, words: Sequence[str], run: _Run, done: int, before: _Run | None) -> _Run:
        """Return a run with the equal tokens before it that are of no earlier run."""
        floor = self._bounds[self._text_of(run.at)]
        if before is not None and before.at < run.at:
            floor = max(floor, before.at + before.n)
        n = 0
        while (
            run.first - n > done
            and run.at - n > floor
            and words[run.first - n - 1] == self._words[run.at - n - 1]
        ):
            n += 1
        return _Run(run.first - n, run.at - n, run.n + n)

    def _text_of(self, at: int) -> int:
        return bisect_right(self._bounds, at) - 1

    def _segments(self, text: str, tokens: _Tokens, run: _Run) -> Iterator[Segment]:
        """Yield the segments of a run; what is only in part a restored stretch is the user's."""
        last = run.at + run.n - 1
        begin, end = self._starts[run.at], self._ends[last]
        shift = run.first - run.at
        at, stop = tokens.starts[run.first], tokens.ends[last + shift]
        for each in self._restored_in(begin, end):
            first = max(bisect_right(self._ends, each.start), run.at)
            final = min(bisect_left(self._starts, each.end) - 1, last)
            start = tokens.starts[first + shift] + max(0, each.start - self._starts[first])
            until = tokens.starts[final + shift]
            until += min(each.end, self._ends[final]) - self._starts[final]
            if at < start:
                yield Segment(at, start, text[at:start])
            if begin <= each.start and each.end <= end:
                yield Segment(start, until, each.sent)
            at = until
        if at < stop:
            yield Segment(at, stop, text[at:stop])

    def _restored_in(self, begin: int, end: int) -> Sequence[_Restored]:
        first = bisect_right(self._restored_starts, begin) - 1
        if first < 0 or self._restored[first].end <= begin:
            first += 1
        return self._restored[first : bisect_left(self._restored_starts, end)]


def _encoded(passages: Sequence[Passage], record: Record) -> SanitizedText:
    """Return the texts of an answer as one result; what only the user saw is in replacements."""
    texts: list[object] = []
    hidden: list[Replacement] = []

    def hide(sent: str, shown: str) -> None:
        hidden.append(Replacement(0, len(sent), sent, _KIND, shown))

    for role, sent, shown, pieces, place, aside in passages:
        hide("", shown)
        same = [[p.sent, p.sent == p.shown] for p in pieces]
        texts.append([role, sent, same, place, *([aside] if aside else [])])
        for piece in pieces:
            if piece.sent != piece.shown:
                hide(piece.sent, piece.shown)
    return SanitizedText(json.dumps(texts), tuple(hidden), record)


def _decoded(turn: SanitizedText) -> list[Passage]:
    """Return the texts of an answer from the result that keeps them."""
    shown = iter([each.original for each in turn.replacements])
    return [
        Passage(
            role,
            sent,
            next(shown),
            tuple(Piece(piece, piece if same else next(shown)) for piece, same in pieces),
            place,
            *aside,
        )
        for role, sent, pieces, place, *aside in json.loads(turn.text)
    ]
