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
import threading
from bisect import bisect_left
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

from sanitizer.answers.alignment import (
    MAX_TRIED,
    Aligner,
    Piece,
    Segment,
    covers,
    cut_off,
    distance,
)
from sanitizer.results import Record, Replacement, SanitizedText
from sanitizer.storage.table import Cache
from sanitizer.storage.vault import Vault, message_key
from sanitizer.text.prompt import DeclaredText

MAX_CONVERSATIONS = 256
"""Conversations whose answers are held ready; those of others are read from the vault again."""
MAX_TURNS = 50_000
"""Turns in all of those together; the last conversation that was used is held whatever it has."""
MAX_READ = 2_000
"""Turns that are read of a conversation that is not held ready: the latest."""
MARKED = 100
"""Every so many turns there is a mark, by which the latest turn is found; vaults drop the first."""
MAX_COMING = 16
"""Answers of a conversation that are known before they have come to their end."""

_KIND = "answer"
_FIRST_SENT = "first sent"
"""Role of a text, by its key, that was sent as the user's, or in part."""


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

    @property
    def read(self) -> str:
        """The text by which it is recognized."""
        return self.shown if self.text is None else self.text


class _Known(NamedTuple):
    """A text of an answer as it would come back unedited, and its turn: see `_Answers.align`."""

    place: int
    sent: str
    aside: str
    turn: int


Coming = Callable[[], list[Passage]]
"""Function that returns what has come of an answer until now."""


class ResponseMemory:
    """The answers of all conversations that one vault holds. Safe for many threads.

    Args:
        vault: keeps them, so that restarts and replicas know them too.
        record: of a text that goes back as it came.
    """

    def __init__(self, vault: Vault, record: Record) -> None:
        self._vault, self._record = vault, record
        # Of the maps below, and never held while the vault is asked or an answer is read.
        self._lock = threading.Lock()
        self._held: Cache[str, _Answers] = Cache(MAX_CONVERSATIONS, MAX_TURNS)
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
                key = self._key(_KIND, conversation, str(number))
                kept = self._vault.put_first(key, turn, conversation)
                held.add(_decoded(kept))
                if kept == turn:
                    break
            for mark in range(number // MARKED, 0, -1)[: 2 if number % MARKED == 0 else 0]:
                # Two: a process may have ended before it put the last one.
                # Marks belong to a conversation of their own: as many again, so few are dropped.
                key = self._key(_KIND, conversation, "mark", str(mark))
                of = f"{conversation}\0marks"
                self._vault.put_first(key, SanitizedText("", (), self._record), of)

    def align(
        self,
        conversation: str,
        history: Sequence[Resent],
        *,
        sends: bool = True,
        slides: bool = False,
    ) -> list[str | tuple[Segment, ...]]:
        """Return what leaves for each text of a history.

        It is the whole text as it was sent, or the stretches that the API wrote, ascending and
        apart, as offsets in `Resent.text`; none if nothing of it is known.

        Args:
            sends: the texts are about to leave: what is the user's of them stays so.
            slides: the history is the latest part of a longer one.

        Raises:
            VaultError: answers cannot be read, or what is the user's cannot be noted.
        """
        keys = self._first_keys(conversation, history)
        with self._current(conversation) as held:
            aligned, new = held.align(history, keys, slides)
            if sends and new:
                self.remember(conversation, new)
            return aligned

    def follow(self, conversation: str, history: Sequence[Resent], others: Iterable[str]) -> None:
        """Begin a conversation with the answers of others that its history may have.

        What was the user's there stays so. Raises VaultError.
        """
        keys = self._first_keys(conversation, history)
        for other in others:
            with self._current(other) as its:
                theirs = zip(keys, self._first_keys(other, history), strict=True)
                users = [key for key, there in theirs if its.is_users(there)]
                numbers = range(its.n_turns - its.n_held, its.n_turns)
            self.remember(
                conversation, [Passage(_FIRST_SENT, key, key, (), asked=0) for key in users]
            )
            for kept in (self._turn(other, number) for number in numbers):
                said = [] if kept is None else _decoded(kept)
                self.remember(
                    conversation, [p._replace(asked=None) for p in said if p.role != _FIRST_SENT]
                )

    def _first_keys(self, conversation: str, history: Iterable[Resent]) -> list[str]:
        """Return by what it is noted that a text was the user's.

        Not by their roles: one text may come back as a message, or as a piece of one.
        """
        kinds = ((each, "message" if each.text is None else "call") for each in history)
        return [
            self._key(_FIRST_SENT, conversation, kind, each.aside, each.shown).hex()
            for each, kind in kinds
        ]

    def n_turns(self, conversation: str, *, reads: bool = True) -> int:
        """Return how many turns are noted, `reads` by others too; raise VaultError."""
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
    ) -> Iterator[_Answers]:
        """Yield the answers of a conversation, if `reads` those too that another process kept.

        Those too that are still coming, if `so_far`.
        No other thread has them meanwhile; those of other conversations are free.
        """
        with self._lock:
            held = self._held.get(conversation) or _Answers()
            self._held.keep(conversation, held, held.n_held)
            waiting = tuple(self._coming.get(conversation, ())) if so_far else ()
        with held.lock:
            if not held.is_begun:
                held.n_turns, held.is_begun = self._first_read(conversation), True
            while reads and (kept := self._turn(conversation, held.n_turns)) is not None:
                held.add(_decoded(kept))
            for coming in waiting:
                held.add_so_far(coming())
            try:
                yield held
            finally:
                with self._lock:
                    if self._held.get(conversation) is held:
                        self._held.keep(conversation, held, held.n_held)

    def _first_read(self, conversation: str) -> int:
        """Return the first of the latest turns that a vault still has, or of `MAX_READ` of them."""

        def marked(mark: int) -> bool:
            key = self._key(_KIND, conversation, "mark", str(mark))
            return self._vault.get(key) is not None

        if not marked(1):
            return 0
        low, high = 1, 2  # the last mark is at least `low`, and below `high` in the end
        while marked(high):
            low, high = high, 2 * high
        last = bisect_left(range(low, high), True, key=lambda mark: not marked(mark)) + low - 1
        turns = range(max(0, MARKED * last - MAX_READ), MARKED * last)
        kept = bisect_left(turns, True, key=lambda n: self._turn(conversation, n) is not None)
        return turns.start + kept

    def _turn(self, conversation: str, number: int) -> SanitizedText | None:
        return self._vault.get(self._key(_KIND, conversation, str(number)))

    def _key(self, *fields: str) -> bytes:
        return message_key(self._vault.secret, *fields)


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


class _Answers:
    """The answers of one conversation.

    Attributes:
        lock: held while the answers are read or added to.
        n_turns: number of the next turn. is_begun: the first one that is kept was looked for.
        n_held: how many turns are here.
        restored: role -> stand-ins that were restored.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.n_turns, self.is_begun = 0, False
        self.n_held = 0
        self.restored: defaultdict[str, set[str]] = defaultdict(set)
        self._pieces: defaultdict[tuple[str, str, int], list[tuple[int, tuple[Piece, ...]]]]
        self._pieces = defaultdict(list)
        self._exact: defaultdict[tuple[str, str], list[_Known]] = defaultdict(list)
        self._aligners: defaultdict[str, Aligner] = defaultdict(Aligner)
        self._unkept: set[Passage] = set()  # known so far as they came, and not in the vault

    def keeps(self, passage: Passage) -> bool:
        """Return True if it is known, and from the vault."""
        return self.knows(passage) and passage not in self._unkept

    def knows(self, passage: Passage) -> bool:
        """Return True if just this is the latest that would come back there."""
        found = self._exact.get((passage.role, passage.shown), [])
        return bool(found) and found[-1][:3] == (passage.place, passage.sent, passage.aside)

    def is_users(self, key: str) -> bool:
        """Return True if it is noted that a text was the user's."""
        return (_FIRST_SENT, key) in self._exact

    def add(self, passages: Iterable[Passage]) -> None:
        """Add the texts of one answer."""
        self.n_turns += 1
        self.n_held += 1
        ways = [way for passage in passages for way in (passage, _spelled_again(passage)) if way]
        for passage in ways:
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
        self, history: Sequence[Resent], keys: Sequence[str], slides: bool
    ) -> tuple[list[str | tuple[Segment, ...]], list[Passage]]:
        """Return what leaves for each text of a history, and notes of those that are the user's.

        A text that was noted is compared with answers that had been asked for before, in an
        earlier turn than that of the note.

        Args:
            history: its texts in order. keys: of the texts, which are kept instead of them.
            slides: it is the latest part of a longer history.
        """
        n_of_role: Counter[tuple[str, str]] = Counter()
        places = []
        for each in history:
            places.append(n_of_role[each.role, each.aside])
            n_of_role[each.role, each.aside] += 1
        found = [self._exact.get((each.role, each.shown), []) for each in history]
        notes = [self._exact.get((_FIRST_SENT, key), []) for key in keys]
        sources = [
            [(one.place, one.aside) for one in known]
            or self._aligners[each.role].sources(each.read, None)
            for each, known in zip(history, found, strict=True)
        ]
        moved = _moved(
            history,
            places,
            [
                [*known, *((note.place, each.aside) for note in noted)]
                for each, known, noted in zip(history, sources, notes, strict=True)
            ],
            slides,
        )
        aligned: list[str | tuple[Segment, ...]] = []
        new: list[Passage] = []
        at_places = [
            place + moved.get((each.role, each.aside), 0)
            for each, place in zip(history, places, strict=True)
        ]
        alike: defaultdict[str, list[int]] = defaultdict(list)
        for key, expected in zip(keys, at_places, strict=True):
            alike[key].append(expected)
        for i, (each, expected) in enumerate(zip(history, at_places, strict=True)):
            far_from = partial(distance, expected, each.aside)
            note = min(notes[i], key=lambda one: abs(one.place - expected), default=None)
            away = abs(note.place - expected) if note else 0
            if note and (
                any(far_from(*at) < (False, away) for at in sources[i])
                or any(abs(note.place - other) < away for other in alike[keys[i]])
            ):
                note = None  # it is of another text that looks like this one
            turn = note.turn if note else None
            known = [one for one in found[i] if turn is None or one.turn < turn]
            aligner = self._aligners[each.role]
            if known:
                # The latest of those that are nearest: an answer may have been asked for again.
                nearest = min(reversed(known), key=lambda one: far_from(one.place, one.aside))
                far = far_from(nearest.place, nearest.aside)
                # One that is spelled otherwise may be nearer: JSON is written again by some.
                if far == (False, 0) or all(
                    far_from(*at) >= far for at in aligner.sources(each.read, turn)
                ):
                    aligned.append(nearest.sent)
                    continue
            cut = self._cut_off(each, expected, turn) if each.text is None else None
            segments = cut or tuple(aligner.align(each.read, expected, each.aside, turn))
            aligned.append(segments)
            if note is None and not covers(segments, each.read):
                new.append(Passage(_FIRST_SENT, keys[i], keys[i], (), expected))
        return aligned, new

    def _cut_off(
        self, resent: Resent, place: int, before: int | None
    ) -> tuple[Segment, ...] | None:
        """Return the stretches of a text that is the beginning or the end of the answer there."""
        for turn, pieces in reversed(self._pieces.get((resent.role, resent.aside, place), [])):
            if before is not None and turn >= before:
                continue
            if (found := cut_off(pieces, resent.shown)) is not None:
                return found
        return None


def _moved(
    history: Sequence[Resent],
    places: Sequence[int],
    sources: Sequence[Sequence[tuple[int, str]]],
    slides: bool,
) -> dict[tuple[str, str], int]:
    """Return by how many places a history was cut off at its beginning, for each role.

    Each text votes for all places where it may come from: the true one gets all votes. Those known
    from one place alone are no better, since whether there is another may be a secret. Of equals
    the history as it was comes first unless it `slides`, and then the latest part of it.
    """
    shifts: defaultdict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    for each, place, known in zip(history, places, sources, strict=True):
        nearest = [at - place for at, aside in known if aside == each.aside]
        shifts[each.role, each.aside].update(set(nearest[-MAX_TRIED:]))
    return {
        role: min(counts, key=lambda shift: (-counts[shift], not slides and shift != 0, -shift))
        for role, counts in shifts.items()
        if counts
    }


def _lean(passage: Passage) -> Passage:
    """Return a text of an answer with equal strings held once."""
    once: dict[str, str] = {passage.sent: passage.sent}
    pieces = tuple(
        Piece(once.setdefault(sent, sent), once.setdefault(shown, shown))
        for sent, shown in passage.pieces
    )
    return passage._replace(shown=once.get(passage.shown, passage.shown), pieces=pieces)


def _spelled_again(passage: Passage) -> Passage | None:
    """Return a text as JavaScript writes it again: "1250" for a restored "1250.0"; None if equal.

    It is not kept: how much room an answer takes is no matter of what is hidden.
    """
    pieces = tuple(
        Piece(sent, shown if sent == shown else shown.removesuffix(".0"))
        for sent, shown in passage.pieces
    )
    shown = "".join([piece.shown for piece in pieces])
    return None if pieces == passage.pieces else passage._replace(shown=shown, pieces=pieces)


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
