"""What the API said in a conversation, and how it goes back when a chat sends its history again.

An answer is kept as the API sent it, with what the user saw in place of each stand-in. A text that
comes back is aligned with the answers: what was restored leaves as the stand-in that came, what the
API wrote leaves as it is, and only what was put in between is the user's. So a guess that the API
writes is never compared with an original (docs/guarantees.md, "An API that chooses texts").

Two answers may look alike to the user though only one was restored ("1234" and "<PIN_1>"). Which
one comes back is told by its place in the history, never by what is in it.

A text is compared with answers that were asked for before it was first sent, and with no later
ones: an API could repeat an example of the user's with a guess in it. What is the user's stays so.
"""

from __future__ import annotations

import json
import re
import threading
from bisect import bisect_left, bisect_right, insort
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
"""Tokens of the shortest stretch of an answer where it was, or that continues it elsewhere."""
MIN_START = 8
"""Tokens of the shortest stretch of an answer that is not where it was, unless it is all of it."""
MAX_READ = 2_000
"""Turns that are read of a conversation that is not held ready: the latest."""
MARKED = 100
"""Every so many turns there is a mark, by which the latest turn is found; vaults drop the first."""
MAX_COMING = 16
"""Answers of a conversation that are known before they have come to their end."""
MAX_TRIED = 64
"""Places of an answer that are tried for one stretch."""
MAX_COMPARED = 100
"""Tokens that are compared for each one of a text, and for 300 at least.

An answer that repeats itself thousands of times would be equal to itself in millions of ways.
"""

_QUOTED = r"^[ \t]*(?:>[ \t]?)+"
_TOKEN = re.compile(rf"{_QUOTED}|(\w+|[^\w\s])", re.MULTILINE)
"""A word or a sign; marks of a quotation before a line are none, since applications add them."""
_CUT = re.compile(r"\s{0,9}(?:\.\.\.|…|\[(?:\.\.\.|…|truncated)\])?\s{0,9}\Z")
"""What an application writes where it cuts an answer off."""
_SEPARATOR = "\n"  # between tokens, of which none has any
_KIND = "answer"
_FIRST_SENT = "first sent"
"""Role of a text, by its key, that was sent as the user's, or in part."""


class Piece(NamedTuple):
    """A stretch of an answer: as it was sent, and as the user saw it; equal unless restored."""

    sent: str
    shown: str


class Passage(NamedTuple):
    """One text of an answer.

    Attributes:
        role: in which it may come back. sent, shown: all of it, as it came and as the user saw it.
        pieces: the text by which it is recognized, in order.
        place: how many texts of this role come before it in the history; -1 if that is not known.
        aside: name of the field in which it stands beside the message, as a thought does; "" for
            the message. Applications may leave such texts out, so they are counted apart.
        asked: turns of the conversation that were known when the answer was asked for; None if
            that is not known.
    """

    role: str
    sent: str
    shown: str
    pieces: tuple[Piece, ...]
    place: int = 0
    aside: str = ""
    asked: int | None = None


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
    """A text of an answer as it would come back unedited; fields as of a `Passage`.

    Attributes:
        turn: in which it was asked for, or noted: see `_Conversation.align`.
    """

    place: int
    sent: str
    aside: str
    turn: int


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
        # Without a look at what others kept: that would be found in its place.
        with self._current(conversation, so_far=False, reads=False) as held:
            new = [passage for passage in passages if not held.keeps(passage)]
            if not new:
                return
            turn = _encoded(new, self._record)
            while True:
                number = held.n_turns
                kept = self._vault.put_first(self._key(conversation, number), turn, conversation)
                held.add(_decoded(kept))
                if kept == turn:
                    break
            for mark in range(number // MARKED, 0, -1)[: 2 if number % MARKED == 0 else 0]:
                # Two: a process may have ended before it put the last one.
                empty = SanitizedText("", (), self._record)
                self._vault.put_first(
                    self._mark(conversation, mark), empty, _marks_of(conversation)
                )

    def align(
        self, conversation: str, history: Sequence[Resent], *, sends: bool = True
    ) -> list[str | tuple[Segment, ...]]:
        """Return what leaves for each text of a history.

        It is the whole text as it was sent, or the stretches that the API wrote, ascending and
        apart, as offsets in `Resent.text`; none if nothing of it is known.

        Args:
            conversation: name of it. history: its texts in order.
            sends: the texts are about to leave: what is the user's of them stays so.

        Raises:
            VaultError: answers cannot be read, or what is the user's cannot be noted.
        """
        keys = [self._text_key(conversation, each) for each in history]
        with self._current(conversation) as held:
            aligned, new = held.align(history, keys)
            if sends and new:
                self.remember(conversation, new)
            return aligned

    def _text_key(self, conversation: str, text: Resent) -> str:
        # Not by its role: one text may come back as a message, or as a piece of one.
        of = "message" if text.text is None else "call"
        fields = (_FIRST_SENT, conversation, of, text.aside, text.shown)
        return message_key(self._vault.secret, *fields).hex()

    def n_turns(self, conversation: str, *, reads: bool = True) -> int:
        """Return how many turns of a conversation are noted; raise VaultError.

        Args:
            conversation: name of it. reads: look for those that another process noted.
        """
        with self._current(conversation, so_far=False, reads=reads) as held:
            return held.n_turns

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
    def _current(
        self, conversation: str, so_far: bool = True, reads: bool = True
    ) -> Iterator[_Conversation]:
        """Yield the answers of a conversation, if `reads` those too that another process kept.

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
            if not held.is_begun:
                held.n_turns, held.is_begun = self._first_read(conversation), True
            while (
                reads
                and (kept := self._vault.get(self._key(conversation, held.n_turns))) is not None
            ):
                held.add(_decoded(kept))
            for coming in waiting:
                held.add_so_far(coming())
            yield held

    def _first_read(self, conversation: str) -> int:
        """Return the first of the latest turns that a vault still has, or of `MAX_READ` of them."""

        def marked(mark: int) -> bool:
            return self._vault.get(self._mark(conversation, mark)) is not None

        if not marked(1):
            return 0
        low, high = 1, 2  # the last mark is at least `low`, and below `high` in the end
        while marked(high):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if marked(middle) else (low, middle)
        first, last = max(0, MARKED * low - MAX_READ), MARKED * low
        while first < last:
            middle = (first + last) // 2
            if self._vault.get(self._key(conversation, middle)) is None:
                first = middle + 1
            else:
                last = middle
        return first

    def _mark(self, conversation: str, mark: int) -> bytes:
        return message_key(self._vault.secret, _KIND, conversation, "mark", str(mark))

    def _key(self, conversation: str, turn: int) -> bytes:
        return message_key(self._vault.secret, _KIND, conversation, str(turn))


def _marks_of(conversation: str) -> str:
    """Return the conversation that marks belong to: as many again, so that few are dropped."""
    return f"{conversation}\0marks"


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
        n_turns: number of the next turn. is_begun: the first one that is kept was looked for.
        restored: role -> stand-ins that were restored.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.n_turns, self.is_begun = 0, False
        self.restored: defaultdict[str, set[str]] = defaultdict(set)
        self._pieces: defaultdict[tuple[str, str, int], list[tuple[int, tuple[Piece, ...]]]]
        self._pieces = defaultdict(list)
        self._exact: defaultdict[tuple[str, str], list[_Known]] = defaultdict(list)
        self._aligners: defaultdict[str, _Aligner] = defaultdict(_Aligner)
        self._unkept: set[Passage] = set()  # known so far as they came, and not in the vault

    def keeps(self, passage: Passage) -> bool:
        """Return True if it is known, and from the vault."""
        return self.knows(passage) and passage not in self._unkept

    def knows(self, passage: Passage) -> bool:
        """Return True if just this is the latest that would come back there."""
        found = self._exact.get((passage.role, passage.shown), [])
        return bool(found) and found[-1][:3] == (passage.place, passage.sent, passage.aside)

    def add(self, passages: Iterable[Passage]) -> None:
        """Add the texts of one answer."""
        self.n_turns += 1
        for passage in passages:
            self._unkept.discard(passage)
            role, sent, shown, pieces, place, aside, asked = _lean(passage)
            turn = self.n_turns if asked is None else asked
            self._exact[role, shown].append(_Known(place, sent, aside, turn))
            if role == _FIRST_SENT:
                continue
            self._aligners[role].add(pieces, place, aside, turn)
            self._pieces[role, aside, place].append((turn, pieces))
            self.restored[role] |= {p.sent for p in pieces if p.sent != p.shown}

    def add_so_far(self, passages: Iterable[Passage]) -> None:
        """Add what has come of an answer, if it is new."""
        new = [passage for passage in passages if not self.knows(passage)]
        if new:
            self.add(new)
            self.n_turns -= 1
            self._unkept.update(new)

    def align(
        self, history: Sequence[Resent], keys: Sequence[str]
    ) -> tuple[list[str | tuple[Segment, ...]], list[Passage]]:
        """Return what leaves for each text of a history, and notes of those that are the user's.

        A text that was noted is compared with answers that had been asked for before, in an
        earlier turn than that of the note.

        Args:
            history: as for `Said.align`. keys: of the texts, which are kept instead of them.
        """
        n_of_role: Counter[tuple[str, str]] = Counter()
        places = []
        for each in history:
            places.append(n_of_role[each.role, each.aside])
            n_of_role[each.role, each.aside] += 1
        found = [self._exact.get((each.role, each.shown), []) for each in history]
        notes = [self._exact.get((_FIRST_SENT, key), []) for key in keys]
        sources = [
            [(one.place, one.aside) for one in known] or self._sources(each)
            for each, known in zip(history, found, strict=True)
        ]
        moved = _moved(
            history,
            places,
            [
                [*known, *((note.place, each.aside) for note in noted)]
                for each, known, noted in zip(history, sources, notes, strict=True)
            ],
        )
        aligned: list[str | tuple[Segment, ...]] = []
        new: list[Passage] = []
        for i, (each, place) in enumerate(zip(history, places, strict=True)):
            expected = place + moved.get((each.role, each.aside), 0)
            distance = partial(_distance, expected, each.aside)
            note = min(notes[i], key=lambda one: abs(one.place - expected), default=None)
            if note and any(
                distance(*at) < (False, abs(note.place - expected)) for at in sources[i]
            ):
                note = None  # it is of another text that looks like this one
            turn = note.turn if note else None
            known = [one for one in found[i] if turn is None or one.turn < turn]
            if known:
                # The latest of those that are nearest: an answer may have been asked for again.
                nearest = min(reversed(known), key=lambda one: distance(one.place, one.aside))
                far = distance(nearest.place, nearest.aside)
                # One that is spelled otherwise may be nearer: JSON is written again by some.
                if far == (False, 0) or all(
                    distance(*at) >= far for at in self._sources(each, turn)
                ):
                    aligned.append(nearest.sent)
                    continue
            cut = self._cut_off(each, expected, turn) if each.text is None else None
            segments = cut or tuple(self._aligned(each, expected, turn))
            aligned.append(segments)
            if note is None and not _is_all_of(each, segments):
                new.append(Passage(_FIRST_SENT, keys[i], keys[i], (), expected))
        return aligned, new

    def _sources(self, text: Resent, before: int | None = None) -> list[tuple[int, str]]:
        read = text.shown if text.text is None else text.text
        return self._aligners[text.role].sources(read, before)

    def _aligned(self, text: Resent, place: int, before: int | None) -> list[Segment]:
        read = text.shown if text.text is None else text.text
        return self._aligners[text.role].align(read, place, text.aside, before)

    def _cut_off(
        self, resent: Resent, place: int, before: int | None
    ) -> tuple[Segment, ...] | None:
        """Return the stretches of a text that is the beginning or the end of the answer there.

        A restored stretch that is cut leaves as its stand-in: what is left of it may be most of
        the original.
        """
        text = resent.shown
        for turn, pieces in reversed(self._pieces.get((resent.role, resent.aside, place), [])):
            if before is not None and turn >= before:
                continue
            whole = "".join(piece.shown for piece in pieces)
            end = _CUT.search(text)
            begun = text[: end.start()] if end else text
            if begun and whole.startswith(begun):
                return tuple(_stretches(pieces, text, begun, 0))
            if text and whole.endswith(text):
                return tuple(_stretches(pieces, text, text, len(whole) - len(text)))
        return None


def _moved(
    history: Sequence[Resent],
    places: Sequence[int],
    sources: Sequence[Sequence[tuple[int, str]]],
) -> dict[tuple[str, str], int]:
    """Return by how many places a history was cut off at its beginning, for each role.

    Each text votes for all places where it may come from: the true one gets all votes. Those known
    from one place alone are no better, since whether there is another may be a secret. Of equals
    the history as it was comes first, and then the latest part of it, as in a window that slides.
    """
    shifts: defaultdict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    for each, place, known in zip(history, places, sources, strict=True):
        nearest = [at - place for at, aside in known if aside == each.aside]
        shifts[each.role, each.aside].update(set(nearest[-MAX_TRIED:]))
    return {
        role: min(counts, key=lambda shift: (-counts[shift], shift != 0, -shift))
        for role, counts in shifts.items()
        if counts
    }


def _lean(passage: Passage) -> Passage:
    """Return a text of an answer with equal strings held once."""
    sent = passage.sent

    def piece_of(piece: Piece) -> Piece:
        text = sent if piece.sent == sent else piece.sent
        return Piece(text, text if piece.shown == text else piece.shown)

    shown = sent if passage.shown == sent else passage.shown
    return passage._replace(shown=shown, pieces=tuple(map(piece_of, passage.pieces)))


def _is_all_of(text: Resent, segments: Iterable[Segment]) -> bool:
    """Return True if nothing of a text is the user's."""
    read = text.shown if text.text is None else text.text
    spans, ends = [], [0]
    for start, end, _ in segments:
        spans.append(read[ends[-1] : start])
        ends.append(end)
    return len(ends) > 1 and not any(_Tokens(span).words for span in (*spans, read[ends[-1] :]))


def _distance(expected: int, stands: str, place: int, aside: str) -> tuple[bool, int]:
    """Return how far a text of an answer is from where one of a history is expected."""
    return aside != stands, abs(place - expected)


def _joined(words: Sequence[str | None]) -> str:
    """Return tokens as one text in which they can be found."""
    return _SEPARATOR + "".join(f"{word}{_SEPARATOR}" for word in words)


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
        self._turns: list[int] = []  # in which each text was asked for
        self._whole: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
        self._firsts: defaultdict[tuple[int, str], list[int]] = defaultdict(list)  # of each place
        self._places: defaultdict[tuple[str | None, ...], list[int]] = defaultdict(list)
        self._last: tuple[tuple[object, ...], list[_Run]] = ((), [])  # found for the last text
        self._added: list[tuple[tuple[Piece, ...], int, str, int]] = []  # and not read yet
        self._n_placed = 0
        self._length = 0

    def add(self, pieces: tuple[Piece, ...], place: int, aside: str, turn: int) -> None:
        """Add a text; it is read when the first text is compared that came back changed."""
        self._added.append((pieces, place, aside, turn))

    def _read(self) -> None:
        """Read the texts that were added."""
        for added in self._added:
            self._read_one(*added)
        self._added.clear()

    def _read_one(self, pieces: Sequence[Piece], place: int, aside: str, turn: int) -> None:
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
        self._turns.append(turn)
        self._firsts[place, aside].append(first)
        self._whole[tuple(tokens.words)].append(first)
        self._words += [*tokens.words, None]
        self._starts += [*tokens.starts, at]
        self._ends += [*tokens.ends, at]
        self._length = at + 1

    def align(self, text: str, place: int, aside: str, before: int | None) -> list[Segment]:
        """Return the stretches of a text that are of these texts, ascending and apart.

        Args:
            text: of a history. place, aside: where it is expected there.
            before: turn since which texts are no source of it; None if all are.
        """
        self._read()
        distance = partial(_distance, place, aside)
        tokens = _Tokens(text)
        if not tokens.words or not self._words:
            return []
        whole = self._before(self._whole.get(tuple(tokens.words), ()), before)
        if whole:
            first = min(reversed(whole), key=lambda at: distance(*self._placed(at)))
            runs = [_Run(0, first, len(tokens.words))]
        else:
            self._place()
            runs = self._runs(tokens.words, place, aside, before)
            for run in self._short_ones(tokens.words, place, aside, before):
                for part in list(self._free(run, runs)):
                    insort(runs, part)
        return list(chain.from_iterable(self._segments(text, tokens, run) for run in runs))

    def sources(self, text: str, before: int | None) -> list[tuple[int, str]]:
        """Return the places of the texts that have the most in a row of this one, with where they
        are aside; `before` as for `align`.
        """
        self._read()
        words = _Tokens(text).words
        found = self._before(self._whole.get(tuple(words), ()), before) if words else []
        if not found:
            self._place()
            runs = self._maximal(words, before)
            runs = [run for run in runs if run.n >= MIN_START or self._is_all(run)]
            most = max((run.n for run in runs), default=0)
            found = sorted({run.at for run in runs if run.n == most})
        return [self._placed(at) for at in found]

    def _before(self, found: Sequence[int], before: int | None) -> list[int]:
        """Return those tokens that are of texts which were asked for before a turn."""
        if before is None:
            return list(found)
        return [at for at in found if self._turns[self._text_of(at)] < before]

    def _place(self) -> None:
        """Note where the runs of the texts that are new occur."""
        last = len(self._words) - MIN_RUN
        for at in range(self._n_placed, last + 1):
            self._places[tuple(self._words[at : at + MIN_RUN])].append(at)
        self._n_placed = max(self._n_placed, last + 1)

    def _placed(self, at: int) -> tuple[int, str]:
        """Return the place of the text of a token, and in which field it is aside."""
        return self._history[self._text_of(at)]

    def _runs(self, words: Sequence[str], place: int, aside: str, before: int | None) -> list[_Run]:
        """Return equal runs, ascending and apart: long ones, and short ones that go on with them.

        The longest come first, those of the text that is expected there as if twice as long: read
        from the left, a few words before a restored stretch could belong to a guess elsewhere.
        """

        def order(run: _Run) -> tuple[int, bool, int]:
            stands, far = _distance(place, aside, *self._placed(run.at))
            return -run.n * (1 if stands or far else 2), stands, far

        found = sorted(self._maximal(words, before, (place, aside)), key=order)
        taken = self._where_it_was(words, place, aside, before)
        for run in found:
            for part in list(self._free(run, taken)):
                if part.n >= MIN_START or self._is_all(part):
                    insort(taken, part)
        texts = {self._text_of(run.at) for run in taken}
        if not taken:
            texts = {self._text_of(run.at) for run in found if order(run)[1:] == (False, 0)}
        for run in found:
            if self._text_of(run.at) in texts:
                for part in list(self._free(run, taken)):
                    if part.n >= MIN_RUN and self._goes_on(part, taken):
                        insort(taken, part)
        for run in self._ends_of(words, taken):
            insort(taken, run)
        return taken

    def _where_it_was(
        self, words: Sequence[str], place: int, aside: str, before: int | None
    ) -> list[_Run]:
        """Return the run or two that most of a text is, if one answer that was there is in it.

        It is whole between other words, or something was put into it or taken out in one place.
        """
        joined = _joined(words)
        for at in reversed(self._before(self._firsts.get((place, aside), ()), before)):
            text = self._words[at : self._end_of(at)]
            if len(text) >= MIN_RUN and (begin := joined.find(_joined(text))) >= 0:
                return [_Run(joined.count(_SEPARATOR, 0, begin), at, len(text))]
            most = min(len(words), len(text))
            n = next((i for i in range(most) if words[i] != text[i]), most)
            rest = most - n
            m = next((i for i in range(rest) if words[-1 - i] != text[-1 - i]), rest)
            if 2 * (n + m) > len(words):
                ends = (_Run(0, at, n), _Run(len(words) - m, at + len(text) - m, m))
                return [run for run in ends if run.n]
        return []

    def _short_ones(
        self, words: list[str], place: int, aside: str, before: int | None
    ) -> Iterator[_Run]:
        """Yield where an answer occurs that is shorter than `MIN_RUN` tokens, and expected there.

        An application put something around it: the name of who says it, or marks of code.
        """
        for at in reversed(self._before(self._firsts.get((place, aside), ()), before)):
            short = self._words[at : self._end_of(at)]
            n = len(short)
            if 0 < n < MIN_RUN:
                found = [i for i in range(len(words)) if words[i : i + n] == short]
            else:
                found = []
            yield from (_Run(i, at, n) for i in found)
            if found:
                return

    def _maximal(
        self, words: Sequence[str], before: int | None, near: tuple[int, str] | None = None
    ) -> list[_Run]:
        """Return the equal runs that are no part of a longer one, of `MIN_RUN` tokens or more.

        Args:
            words: of a text. before: as for `align`.
            near: place of texts that are tried in any case, and where they are aside.
        """
        key = (tuple(words), before, near, len(self._words))
        if self._last[0] == key:
            return self._last[1]
        done: dict[int, int] = {}  # how far runs are known, by the offset between both texts
        found: list[_Run] = []
        left = MAX_COMPARED * max(len(words), 300)
        for i in range(len(words) - MIN_RUN + 1):
            places = self._places.get(tuple(words[i : i + MIN_RUN]), [])
            tried = places if len(places) <= MAX_TRIED else self._tried(places, near)
            for at in self._before(tried, before):
                left -= 1
                if done.get(at - i, 0) <= i:
                    run = self._extended(words, i, at)
                    done[at - i] = run.first + run.n
                    found.append(run)
                    left -= run.n
            if left < 0:
                break
        self._last = (key, found)
        return found

    def _tried(self, places: Sequence[int], near: tuple[int, str] | None) -> list[int]:
        """Return some of many places: the first, the last, and those in texts that are near."""
        half = MAX_TRIED // 2
        tried = {*places[:half], *places[-half:]}
        for first in self._firsts.get(near, ()) if near else ():
            inside = places[bisect_left(places, first) : bisect_left(places, self._end_of(first))]
            tried.update(inside[:half])
        return sorted(tried)

    def _extended(self, words: Sequence[str], i: int, at: int) -> _Run:
        """Return the longest run around equal tokens of both."""
        n, before = MIN_RUN, 0
        while i + n < len(words) and words[i + n] == self._words[at + n]:
            n += 1
        while before < min(i, at) and words[i - before - 1] == self._words[at - before - 1]:
            before += 1
        return _Run(i - before, at - before, before + n)

    def _is_all(self, run: _Run) -> bool:
        """Return True if a run is a whole text."""
        first = self._bounds[self._text_of(run.at)]
        return run.at == first and self._words[first + run.n] is None

    @staticmethod
    def _free(run: _Run, taken: Sequence[_Run]) -> Iterator[_Run]:
        """Yield the parts of a run that are in no run that is taken."""
        at, end = run.first, run.first + run.n
        shift = run.at - run.first
        for i in range(max(0, bisect_left(taken, (at,)) - 1), len(taken)):
            each = taken[i]
            if each.first >= end:
                break
            if at < each.first:
                yield _Run(at, at + shift, each.first - at)
            at = max(at, each.first + each.n)
        if at < end:
            yield _Run(at, at + shift, end - at)

    def _goes_on(self, run: _Run, taken: Sequence[_Run]) -> bool:
        """Return True if a run is between the runs of its text that are around it."""
        text, i = self._text_of(run.at), bisect_left(taken, run)
        left = next((e for e in reversed(taken[:i]) if self._text_of(e.at) == text), None)
        right = next((e for e in taken[i:] if self._text_of(e.at) == text), None)
        return (left is None or left.at + left.n <= run.at) and (
            right is None or run.at + run.n <= right.at
        )

    def _ends_of(self, words: Sequence[str], taken: Sequence[_Run]) -> Iterator[_Run]:
        """Yield the first and last tokens of a text of which other runs are known, if any."""
        if not taken:
            return
        first, last = taken[0], taken[-1]
        begin, n = self._bounds[self._text_of(first.at)], 0
        while n < first.first and begin + n < first.at and words[n] == self._words[begin + n]:
            n += 1
        if n:
            yield _Run(0, begin, n)
        stop, done = self._end_of(last.at), last.first + last.n
        n = 0
        while (
            len(words) - n > done
            and stop - n > last.at + last.n
            and words[len(words) - n - 1] == self._words[stop - n - 1]
        ):
            n += 1
        if n:
            yield _Run(len(words) - n, stop - n, n)

    def _end_of(self, at: int) -> int:
        """Return the end of the text of a token, which is no token of it."""
        text = self._text_of(at) + 1
        return (self._bounds[text] if text < len(self._bounds) else len(self._words)) - 1

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

    for role, sent, shown, pieces, place, aside, asked in passages:
        hide("", shown)
        same = [[p.sent, p.sent == p.shown] for p in pieces]
        texts.append([role, sent, same, place, aside, asked])
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
            *more,  # those of older versions end with the place, or where it is aside
        )
        for role, sent, pieces, place, *more in json.loads(turn.text)
    ]
