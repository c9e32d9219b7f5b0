"""Stretches of an answer in a text that came back, edited or not.

Texts are compared by words and signs; white space and marks of quotation tell nothing. Which of
several answers a stretch is of is told by length and by place, never by what is private in it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, takewhile
from typing import NamedTuple

from sanitizer.text.words import outside, overlapping

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
_SEPARATOR = "\n"
"""Stands between tokens, of which none has any."""
_CUT = re.compile(r"\s{0,9}(?:\.\.\.|…|\[(?:\.\.\.|…|truncated)\])?\s{0,9}\Z")
"""What an application writes where it cuts an answer off."""


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


class _Run(NamedTuple):
    """Tokens of a text, from the first up to the stop, that equal those at a place of an answer."""

    first: int
    stop: int
    at: int

    @property
    def n(self) -> int:
        """How many they are."""
        return self.stop - self.first


class _Tokens:
    """Tokens of a text with their character offsets; white space tells nothing."""

    def __init__(self, text: str, base: int = 0) -> None:
        spans = [match.span(1) for match in _TOKEN.finditer(text) if match[1]]
        self.words: Sequence[str | None] = [text[start:end] for start, end in spans]
        self.starts = [base + start for start, _ in spans]
        self.ends = [base + end for _, end in spans]


class Aligner:
    """The texts of one role, one behind the other, and where each run of tokens occurs in them."""

    def __init__(self) -> None:
        self.words: list[str | None] = []  # None between two texts
        self.bounds: list[int] = []  # first token of each text
        self.turns: list[int] = []  # in which each text was asked for
        self.firsts: defaultdict[tuple[int, str], list[int]] = defaultdict(list)  # of each place
        self.places: defaultdict[tuple[str | None, ...], list[int]] = defaultdict(list)
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._restored: list[Segment] = []  # offsets in what the user saw
        self._history: list[tuple[int, str]] = []  # place of each text, and where it is aside
        self._whole: defaultdict[tuple[str | None, ...], list[int]] = defaultdict(list)
        self._added: list[tuple[tuple[Piece, ...], int, str, int]] = []  # and not read yet
        self._n_placed = 0
        self._length = 0

    def add(self, pieces: tuple[Piece, ...], place: int, aside: str, turn: int) -> None:
        """Add a text; it is read when the first text is compared that came back changed."""
        self._added.append((pieces, place, aside, turn))

    def align(self, text: str, place: int, aside: str, before: int | None) -> list[Segment]:
        """Return the stretches of a text that are of these texts, ascending and apart.

        Args:
            text: of a history. place, aside: where it is expected there.
            before: turn since which texts are no source of it; None if all are.
        """
        tokens, search = self._opened(text, place, aside, before)
        if not tokens.words or not self.words:
            return []
        runs = [_Run(0, len(tokens.words), at) for at in self._wholes(search)]
        if runs:
            runs = [min(reversed(runs), key=lambda run: search.far(run.at))]
        else:
            runs = search.runs()
        return list(chain.from_iterable(self._segments(text, tokens, run) for run in runs))

    def sources(self, text: str, before: int | None) -> list[tuple[int, str]]:
        """Return the places of the texts that have the most in a row of this one, with where they
        are aside; `before` as for `align`.
        """
        tokens, search = self._opened(text, 0, "", before)
        found = self._wholes(search) if tokens.words else []
        if not found:
            runs = [run for run in search.maximal(()) if run.n >= MIN_START or self.is_all(run)]
            most = max((run.n for run in runs), default=0)
            found = sorted({run.at for run in runs if run.n == most})
        return [self.placed(at) for at in found]

    def placed(self, at: int) -> tuple[int, str]:
        """Return the place of the text of a token, and in which field it is aside."""
        return self._history[self.text_of(at)]

    def text_of(self, at: int) -> int:
        """Return the number of the text of a token."""
        return bisect_right(self.bounds, at) - 1

    def end_of(self, at: int) -> int:
        """Return the end of the text of a token, which is no token of it."""
        text = self.text_of(at) + 1
        return (self.bounds[text] if text < len(self.bounds) else len(self.words)) - 1

    def is_all(self, run: _Run) -> bool:
        """Return True if a run is a whole text."""
        return self.bounds[self.text_of(run.at)] == run.at == self.end_of(run.at) - run.n

    def _opened(
        self, text: str, place: int, aside: str, before: int | None
    ) -> tuple[_Tokens, _Search]:
        for added in self._added:
            self._read(*added)
        self._added.clear()
        tokens = _Tokens(text)
        return tokens, _Search(self, tokens.words, (place, aside), before)

    def _read(self, pieces: Sequence[Piece], place: int, aside: str, turn: int) -> None:
        base = at = self._length
        for sent, shown in pieces:
            if sent != shown:
                self._restored.append(Segment(at, at + len(shown), sent))
            at += len(shown)
        tokens = _Tokens("".join(shown for _, shown in pieces), base)
        first = len(self.words)
        self.bounds.append(first)
        self.turns.append(turn)
        self.firsts[place, aside].append(first)
        self._history.append((place, aside))
        self._whole[tuple(tokens.words)].append(first)
        self.words += [*tokens.words, None]
        self._starts += [*tokens.starts, at]
        self._ends += [*tokens.ends, at]
        self._length = at + 1

    def _wholes(self, search: _Search) -> list[int]:
        """Return the first tokens of texts that are equal; if none is, note where runs occur."""
        if found := search.before(self._whole.get(tuple(search.words), ())):
            return found
        last = len(self.words) - MIN_RUN
        for at in range(self._n_placed, last + 1):
            self.places[tuple(self.words[at : at + MIN_RUN])].append(at)
        self._n_placed = max(self._n_placed, last + 1)
        return []

    def _segments(self, text: str, tokens: _Tokens, run: _Run) -> Iterator[Segment]:
        """Yield the segments of a run; what is only in part a restored stretch is the user's."""
        last, begin = run.at + run.n - 1, self._starts[run.at]
        if run.at in self.bounds:  # with what stands before the first token of a text
            begin = self._ends[run.at - 1] if run.at else -1
        end = self._starts[last + 1] + (self.words[last + 1] is None)
        shift = run.first - run.at
        at, stop = tokens.starts[run.first], tokens.ends[last + shift]
        for each in overlapping(self._restored, begin, end):
            first = max(bisect_right(self._ends, each.start), run.at)
            final = min(bisect_left(self._starts, each.end) - 1, last)
            if final < first:  # white space, or a mark of quotation: no token of its own
                start = max(at, tokens.ends[final + shift]) if final >= run.at else at
                until = max(start, tokens.starts[first + shift]) if first <= last else start
                if at < start:
                    yield Segment(at, start, text[at:start])
                yield Segment(start, until, f" {each.sent} ")
                at = until
                continue
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


class _Search:
    """The runs of one text that are in the texts of an aligner.

    Args:
        words: of the text. place: where it is expected, and where it is aside.
        turn: since which texts are no source of it; None if all are.
    """

    def __init__(
        self, index: Aligner, words: Sequence[str | None], place: tuple[int, str], turn: int | None
    ) -> None:
        self._index, self._place, self._turn = index, place, turn
        self.words = list(words)

    def before(self, found: Sequence[int]) -> list[int]:
        """Return those tokens that are of texts which were asked for before the turn."""
        if self._turn is None:
            return list(found)
        turns, text_of = self._index.turns, self._index.text_of
        return [at for at in found if turns[text_of(at)] < self._turn]

    def far(self, at: int) -> tuple[bool, int]:
        """Return how far the text of a token is from where this one is expected."""
        return distance(*self._place, *self._index.placed(at))

    def runs(self) -> list[_Run]:
        """Return equal runs, ascending and apart: long ones, and short ones that go on with them.

        The longest come first, those of the text that is expected there as if twice as long: read
        from the left, a few words before a restored stretch could belong to a guess elsewhere.
        """

        def order(run: _Run) -> tuple[int, bool, int]:
            stands, far = self.far(run.at)
            return -run.n * (1 if stands or far else 2), stands, far

        index = self._index
        found = sorted(self.maximal(self._here()), key=order)
        taken = self._where_it_was()
        for run in found:
            for part in _free(run, taken):
                if part.n >= MIN_START or index.is_all(part):
                    insort(taken, part)
        texts = {index.text_of(run.at) for run in taken}
        if not taken:
            texts = {index.text_of(run.at) for run in found if order(run)[1:] == (False, 0)}
        for run in found:
            if index.text_of(run.at) in texts:
                for part in _free(run, taken):
                    if part.n >= MIN_RUN and self._goes_on(part, taken):
                        insort(taken, part)
        for run in [*self._ends_of(taken), *self._short_ones()]:
            for part in _free(run, taken):
                insort(taken, part)
        return taken

    def maximal(self, near: Sequence[int]) -> list[_Run]:
        """Return the equal runs that are no part of a longer one, of `MIN_RUN` tokens or more.

        Args:
            near: first tokens of texts that are tried in any case; of others some of many are.
        """
        index, half = self._index, MAX_TRIED // 2
        done: dict[int, int] = {}  # how far runs are known, by the offset between both texts
        found: list[_Run] = []
        left = MAX_COMPARED * max(len(self.words), 300)
        for i in range(len(self.words) - MIN_RUN + 1):
            tried = places = index.places.get(tuple(self.words[i : i + MIN_RUN]), [])
            if len(places) > MAX_TRIED:
                some = {*places[:half], *places[-half:]}
                for first in near:
                    begin, end = (bisect_left(places, at) for at in (first, index.end_of(first)))
                    some.update(places[begin:end][:half])
                tried = sorted(some)
            for at in self.before(tried):
                left -= 1
                if done.get(at - i, 0) <= i:
                    run = self._extended(i, at)
                    done[at - i] = run.stop
                    found.append(run)
                    left -= run.n
            if left < 0:
                break
        return found

    def _here(self) -> list[int]:
        """Return the first tokens of texts that were where this one is expected, the last first."""
        return list(reversed(self.before(self._index.firsts.get(self._place, ()))))

    def _where_it_was(self) -> list[_Run]:
        """Return the run or two that most of a text is, if one answer that was there is in it.

        It is whole between other words, or something was put into it or taken out in one place.
        """
        words, joined = self.words, _joined(self.words)
        for at in self._here():
            text = self._index.words[at : self._index.end_of(at)]
            if len(text) >= MIN_RUN and (begin := joined.find(_joined(text))) >= 0:
                first = joined.count(_SEPARATOR, 0, begin)
                return [_Run(first, first + len(text), at)]
            n = _n_equal(words, text)
            m = min(_n_equal(words[::-1], text[::-1]), min(len(words), len(text)) - n)
            if 2 * (n + m) > len(words):
                ends = (_Run(0, n, at), _Run(len(words) - m, len(words), at + len(text) - m))
                return [run for run in ends if run.n]
        return []

    def _short_ones(self) -> list[_Run]:
        """Return where an answer occurs that is shorter than `MIN_RUN` tokens, and expected there.

        An application put something around it: the name of who says it, or marks of code.
        """
        for at in self._here():
            short = self._index.words[at : self._index.end_of(at)]
            if 0 < (n := len(short)) < MIN_RUN:
                found = [i for i in range(len(self.words)) if self.words[i : i + n] == short]
                if found:
                    return [_Run(i, i + n, at) for i in found]
        return []

    def _extended(self, i: int, at: int) -> _Run:
        """Return the longest run around equal tokens of both."""
        words, others = self.words, self._index.words
        n, before = MIN_RUN, 0
        while i + n < len(words) and words[i + n] == others[at + n]:
            n += 1
        while before < min(i, at) and words[i - before - 1] == others[at - before - 1]:
            before += 1
        return _Run(i - before, i + n, at - before)

    def _goes_on(self, run: _Run, taken: Sequence[_Run]) -> bool:
        """Return True if a run is between the runs of its text that are around it."""
        text_of, i = self._index.text_of, bisect_left(taken, run)
        text = text_of(run.at)
        left = next((e for e in reversed(taken[:i]) if text_of(e.at) == text), None)
        right = next((e for e in taken[i:] if text_of(e.at) == text), None)
        return (left is None or left.at + left.n <= run.at) and (
            right is None or run.at + run.n <= right.at
        )

    def _ends_of(self, taken: Sequence[_Run]) -> Iterator[_Run]:
        """Yield the first and last tokens of a text of which other runs are known, if any."""
        if not taken:
            return
        first, last, index = taken[0], taken[-1], self._index
        begin = index.bounds[index.text_of(first.at)]
        if n := _n_equal(self.words[: first.first], index.words[begin : first.at]):
            yield _Run(0, n, begin)
        stop = index.end_of(last.at)
        rest = self.words[last.stop :][::-1]
        if n := _n_equal(rest, index.words[last.at + last.n : stop][::-1]):
            yield _Run(len(self.words) - n, len(self.words), stop - n)


def _n_equal(words: Sequence[str | None], others: Sequence[str | None]) -> int:
    """Return how many words at the beginning of both are equal."""
    pairs = zip(words, others, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _free(run: _Run, taken: Sequence[_Run]) -> list[_Run]:
    """Return the parts of a run that are in no run that is taken."""
    shift = run.at - run.first
    parts = outside(taken, run.first, run.stop)
    return [_Run(first, stop, first + shift) for first, stop in parts]


def _joined(words: Sequence[str | None]) -> str:
    """Return tokens as one text in which they can be found."""
    return _SEPARATOR + "".join(f"{word}{_SEPARATOR}" for word in words)
