"""Stretches of an answer in a text that came back, edited or not.

Texts are compared by words and signs; white space and marks of quotation tell nothing. Which of
several answers a stretch is of is told by length and by place, never by what is private in it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

MIN_RUN = 3
"""Tokens of the shortest stretch of an answer where it was, or that continues it elsewhere."""
MIN_START = 8
"""Tokens of the shortest stretch of an answer that is not where it was, unless it is all of it."""
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


class Piece(NamedTuple):
    """A stretch of an answer: as it was sent, and as the user saw it; equal unless restored."""

    sent: str
    shown: str


class Segment(NamedTuple):
    """A stretch of a text that the API wrote.

    Attributes:
        start, end: character offsets in the text. sent: what leaves in its place.
    """

    start: int
    end: int
    sent: str


def cut_off(pieces: Sequence[Piece], text: str) -> tuple[Segment, ...] | None:
    """Return the stretches of a text that is the beginning or the end of an answer, else None.

    A restored stretch that is cut leaves as its stand-in: what is left of it may be most of the
    original.
    """
    whole = "".join(piece.shown for piece in pieces)
    end = _CUT.search(text)
    begun = text[: end.start()] if end else text
    if begun and whole.startswith(begun):
        return tuple(_stretches(pieces, text, begun, 0))
    if text and whole.endswith(text):
        return tuple(_stretches(pieces, text, text, len(whole) - len(text)))
    return None


def covers(segments: Iterable[Segment], text: str) -> bool:
    """Return True if nothing but white space is outside of the segments of a text."""
    spans, ends = [], [0]
    for start, end, _ in segments:
        spans.append(text[ends[-1] : start])
        ends.append(end)
    return len(ends) > 1 and not any(_Tokens(span).words for span in (*spans, text[ends[-1] :]))


def distance(expected: int, stands: str, place: int, aside: str) -> tuple[bool, int]:
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


class Aligner:
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
        far_from = partial(distance, place, aside)
        tokens = _Tokens(text)
        if not tokens.words or not self._words:
            return []
        whole = self._before(self._whole.get(tuple(tokens.words), ()), before)
        if whole:
            first = min(reversed(whole), key=lambda at: far_from(*self._placed(at)))
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
            stands, far = distance(place, aside, *self._placed(run.at))
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
