"""The tagger's class of each hidden word: every run read by itself, in sight of the public words.

Guarantee: as in detector.py. What is asked of a word beyond its scores depends on its own form, on
public lists and on visible text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sanitizer.detect.classes import (
    class_of,
    given_names,
    misspelt,
)
from sanitizer.detect.numbers import ruled_out
from sanitizer.detect.skeleton import (
    NUMBERS,
    WORD,
    PublicForms,
    Run,
    Skeleton,
    foreign_words,
    is_french_form,
    unelided,
)
from sanitizer.detect.surroundings import NAMES
from sanitizer.lm import MaskedLM, Tagger, WordPieces, WordTable
from sanitizer.progress import report
from sanitizer.text import overlapping

_READS = {**dict.fromkeys(NUMBERS, "two"), "PERSON": "she", "PLACE": "home", "ORGANIZATION": "work"}
_MARGIN = 32  # tokens that neighbouring windows of a long text share on each side
_NAMED = ("PERSON", "ORGANIZATION", "PLACE", "PRODUCT")
_NUMBERS = {"MONEY": 0.08, "DATE": 0.02, "ID": 0.02, "NUMBER": 0.02}
_OF_NAMES_AND_NUMBERS = _NUMBERS.keys() | NAMES
_FIRST = dict.fromkeys(_NAMED, 0.05) | _NUMBERS
_SECOND = dict.fromkeys(_NAMED, 0.05) | _NUMBERS | {"PRODUCT": 0.07, "FACT": 0.35, "CONDITION": 0.1}
_FIRST_ELSE, _SECOND_ELSE = 0.6, 0.2
"""Least share of all classes together at which a word has one, by the tagger's stage: a miss weighs
more than a word too many, most of all for names and numbers."""
_EVERYDAY, _MISSPELT = 0.7, 0.5
"""Least share of all classes at which an everyday word counts as a name: of the lists, and one that
is a typing error away from a visible word."""
_COINED = 0.25
"""The same of a word that two public ones make: "smartphone" and the name "greenwood"."""
_NEVER = float("inf")
"""The same of everyday words in another language than English: the tagger hardly reads these, and
gave "Damen und Herren" an illness. Listed ones have their list's class without it."""
_LISTED = 0.04
"""Least share of all classes, whatever they are, at which a listed illness, treatment, belief,
origin or crime is that of somebody."""
_ALARMS, _ALARMING = frozenset(["panic", "panics", "panicked", "panicking"]), 0.3
"""Listed words that mostly tell of no illness, and the same of these."""
_VAGUE = 0.45
"""Share of the likeliest class among all of them below which a word is part of a fact of no class:
a told class was right in one of four such words of the open prompts and the development set."""
_IN_PROGRAM, _DIGIT_IN_PROGRAM, _MOST_DIGITS = 0.03, 0.5, 2
"""The same of a number in a program of up to so many digits, and of a single one: most are
nobody's."""
_SURE = 0.9
"""Share of all classes from which a count or a term is somebody's, whatever its unit is."""
_ONE = np.ones(1, dtype=np.int64)
_FACT_LIMIT, _FOREIGN_FACT_LIMIT = 1.8, 2.6
"""Log odds of one of its words from which a sentence is warned about, in English and elsewhere."""
_OPENING = re.compile(r"(?:[.!?] |\n|\n[-*>#] )$")
"""Text before the beginning of a sentence or line."""
# A dot inside an address or a number ends no sentence.
_SENTENCE = re.compile(r"(?:[^.!?\n;]|[.!?;](?=[^\s.!?;]))*+(?:[.!?\n;]+|$)")
_GLUED = frozenset("-_./&'\u2019#@+0123456789")


_OF_LISTS = tuple("CONDITION TREATMENT BELIEF ORIGIN CRIME OCCUPATION SEXUALITY FAMILY".split())
"""Classes of `class_of` as the tagger's second stage reads them."""
_BLOCK = 32  # the graph wants whole blocks


class Told(NamedTuple):
    """A sentence that seems to tell a sensitive fact in visible words.

    Attributes:
        start, end: character offsets. by: where its telling words begin.
    """

    start: int
    end: int
    by: tuple[int, ...]


class Lexicon:
    """What is known of the words of a run: their vectors and the public lists that they are on.

    It reads the run alone.

    Args:
        words: vectors of frequent words. forms: the public lists.
    """

    def __init__(self, words: WordTable, forms: PublicForms) -> None:
        self._words, self._forms = words, forms
        self._n_dimensions = words.vectors.shape[1]
        n = 3 * self._n_dimensions + len(self._flags("a", WORD, 1, 0, -1))
        self.width = -(-n // _BLOCK) * _BLOCK
        """Numbers for each word."""

    def known(self, words: Sequence[str], kind: str) -> NDArray[np.float32]:
        """Return what is known of each word, float32 [n_words, `width`]: its vector, those of the
        words before and after it in the run, and flags.

        Args:
            words: of one run, as written; a number is one word. kind: of the run.
        """
        n = self._n_dimensions
        found = np.zeros((len(words), self.width), np.float32)
        for i, word in enumerate(words):
            row = self._row(word)
            if row >= 0:
                vector = self._words.vectors[row].astype(np.float32)
                found[i, :n] = vector * np.float32(np.sqrt(n)) / max(self._words.norms[row], 1)
            flags = self._flags(word, kind, len(words), i, row)
            found[i, 3 * n : 3 * n + len(flags)] = flags
        found[1:, n : 2 * n] = found[:-1, :n]
        found[:-1, 2 * n : 3 * n] = found[1:, :n]
        return found

    def _row(self, word: str) -> int:
        """Return the row of a word's vector, or of its singular's; -1 without one."""
        plain = word.strip("'\u2019")
        for ending in ("", "'s", "\u2019s", "s"):
            if plain.endswith(ending):
                row = self._words.row(plain.removesuffix(ending))
                if row >= 0:
                    return row
        return -1

    def _flags(self, word: str, kind: str, n: int, i: int, row: int) -> list[float]:
        forms, plain = self._forms, word.lower()
        told = class_of(word) if kind == WORD else None
        return [
            float(flag)
            for flag in (
                word.islower(),
                word[:1].isupper(),
                word.isupper() and len(word) > 1,
                any(char.isdigit() for char in word),
                word.isdecimal(),
                *(kind == each for each in sorted(NUMBERS)),
                row < 0,
                plain in forms.judged,
                plain in forms.ordinary,
                forms.known(word),
                plain in forms.lower,
                plain in forms.opening,
                plain in forms.anywhere,
                plain in given_names(),
                *(told == each for each in _OF_LISTS),
                told is not None,
                min(len(word), 12) / 6 - 1,
                n == 1,
                min(n, 5) / 3,
                i == 0,
                i == n - 1,
            )
        ]


@dataclass(frozen=True, slots=True)
class _Tokens:
    """A skeleton as the model reads it: ids int64 [n], the slot of each run, and where each token
    of visible text begins (-1 for slots)."""

    ids: NDArray[np.int64]
    slots: NDArray[np.int64]
    chars: NDArray[np.int64]


class Tagging:
    """Asks the tagger for the class of each hidden word. Safe for many threads.

    Args:
        model, pieces: the masked LM and its tokenizer. tagger: scores of runs.
        forms: the public lists. mode: as of `Detector`.
    """

    def __init__(
        self, model: MaskedLM, pieces: WordPieces, tagger: Tagger, forms: PublicForms, mode: str
    ) -> None:
        self._model, self._pieces, self._tagger = model, pieces, tagger
        self._forms, self._mode = forms, mode
        self._lexicon = Lexicon(model.words, forms)
        self._first = {c: _FIRST.get(c, _FIRST_ELSE) for c in (*tagger.classes, "FACT")}
        self._second = {c: _SECOND.get(c, _SECOND_ELSE) for c in (*tagger.classes, "FACT")}

    def labels(
        self, found: Skeleton, language: str, programs: Sequence[tuple[int, int]] = ()
    ) -> tuple[list[list[str | None]], list[Told], set[int]]:
        """Return the class of each word of each run, the sentences that tell a fact, and which runs
        are numbers that are surely somebody's.

        Args:
            programs: stretches of programs, ascending.
        """
        sure: set[int] = set()
        tokens = self._tokens(found)
        labels: list[list[str | None]] = [
            [None] * (1 if run.is_number else len(run.words)) for run in found.runs
        ]
        odds = np.full(len(tokens.ids), -np.inf, np.float32)
        for begin, end, first, last in _windows(len(tokens.ids), self._model.max_length - 2):
            ids = np.array(
                [self._pieces.cls, *tokens.ids[begin:end], self._pieces.sep], dtype=np.int64
            )
            states = self._model.states(ids, self._tagger.layers)
            inside = (tokens.slots >= first) & (tokens.slots < last)
            numbers = [
                int(i) for i in np.flatnonzero(inside) if found.runs[i].kind in {WORD, *NUMBERS}
            ]
            facts = self._label(
                found, tokens, numbers, begin, states, labels, language, programs, sure
            )
            odds[first:last] = facts[1 + first - begin : 1 + last - begin]
            report(last, len(tokens.ids))
        limit = _FACT_LIMIT if language == "en" else _FOREIGN_FACT_LIMIT
        return labels, list(_facts(found.text, tokens, odds, limit)), sure

    def _label(
        self,
        found: Skeleton,
        tokens: _Tokens,
        numbers: Sequence[int],
        begin: int,
        states: dict[int, NDArray[np.float32]],
        labels: list[list[str | None]],
        language: str,
        programs: Sequence[tuple[int, int]],
        sure: set[int],
    ) -> NDArray[np.float32]:
        """Fill in the labels of the runs of one window, and the numbers that are sure; return the
        facts' log odds by token."""
        width = self._tagger.width
        read = [self._asked(found, found.runs[i]) for i in numbers]
        ids = np.full((len(read), width), self._pieces.mask, dtype=np.int64)
        lengths = np.empty(len(read), dtype=np.int64)
        for row, (run_ids, _) in enumerate(read):
            first = run_ids[:width]
            lengths[row] = len(first)
            ids[row, : len(first)] = first
        at = np.array([1 + tokens.slots[i] - begin for i in numbers], dtype=np.int64)
        if not read:  # the graph wants one run at least; how many there are is public
            ids, lengths = np.full((1, width), self._pieces.mask, dtype=np.int64), _ONE
            at = _ONE
        vectors = self._model.pieces.vectors(ids.reshape(-1)).reshape(len(ids), width, -1)
        # The second stage learnt from English words, and from masks in the skeleton.
        knows = self._mode == "local" and language == "en"
        words = [self._known(found, found.runs[i]) for i in numbers] if knows else []
        firsts_of = [firsts for _, firsts in read]
        known = self._placed(words, firsts_of, len(ids)) if knows else None
        scores, facts = self._tagger.scores(states, vectors, lengths, at, known)
        for row, (i, (run_ids, firsts)) in enumerate(zip(numbers, read, strict=True)):
            limits = self._name_limits(found, found.runs[i], language, programs)
            for word, piece in enumerate(firsts):
                if piece < width:
                    labels[i][word] = self._decided(scores[row, piece], *limits[word], knows)
            if labels[i][0] == "NUMBER" and found.runs[i].is_number:
                odds = np.exp(scores[row, 0] - scores[row, 0].max())
                sure |= {i} if odds[0] <= (1 - _SURE) * odds.sum() else set()
            if len(run_ids) > width:
                place = int(at[row])
                rest = words[row] if knows else None
                self._label_rest(run_ids, firsts, place, states, labels[i], limits, rest)
        return facts

    def _known(self, found: Skeleton, run: Run) -> NDArray[np.float32]:
        """What is known of the words of a run, float32 [n_words, n]."""
        words = ((run.start, run.end),) if run.is_number else run.words
        return self._lexicon.known([found.text[begin:end] for begin, end in words], run.kind)

    def _placed(
        self,
        words: Sequence[NDArray[np.float32]],
        firsts: Sequence[Sequence[int]],
        n_rows: int,
        begin: int = 0,
    ) -> NDArray[np.float32]:
        """Put what is known of the words of runs where each begins.

        Args:
            firsts: of each run, the number of the first piece of each word. begin: of the first
                piece that is read.
        """
        width = self._tagger.width
        placed = np.zeros((n_rows, width, self._lexicon.width), np.float32)
        for row, (known, places) in enumerate(zip(words, firsts, strict=True)):
            for word, piece in zip(known, places, strict=True):
                if begin <= piece < begin + width:
                    placed[row, piece - begin] = word
        return placed

    def _label_rest(
        self,
        ids: Sequence[int],
        firsts: Sequence[int],
        at: int,
        states: dict[int, NDArray[np.float32]],
        labels: list[str | None],
        limits: Sequence[tuple[float, str]],
        words: NDArray[np.float32] | None,
    ) -> None:
        """Label the words of a long run beyond its first pieces.

        They are read alone: the shape of what is read with others must not depend on them.
        """
        width = self._tagger.width
        place = np.array([at], dtype=np.int64)
        begin = 0
        while (left := [f for f in firsts if f >= begin + width]) and begin < len(ids):
            begin = left[0]
            known = np.array(ids[begin : begin + width], dtype=np.int64)
            padded = np.full((1, width), self._pieces.mask, dtype=np.int64)
            padded[0, : len(known)] = known
            vectors = self._model.pieces.vectors(padded.reshape(-1)).reshape(1, width, -1)
            lengths = np.array([len(known)], dtype=np.int64)
            facts = None if words is None else self._placed([words], [firsts], 1, begin)
            scores, _ = self._tagger.scores(states, vectors, lengths, place, facts)
            for word, piece in enumerate(firsts):
                if begin <= piece < begin + width:
                    labels[word] = self._decided(
                        scores[0, piece - begin], *limits[word], words is not None
                    )

    def _decided(
        self, scores: NDArray[np.float32], name_limit: float, word: str, knows: bool
    ) -> str | None:
        """Return the likeliest class, or None if all of them together are too unlikely.

        Args:
            name_limit: share of all classes from which an everyday word is a name; 0 for others.
            word: as written; its form rules classes out. An everyday word with such a class is
                judged by the others; any other word has the likeliest of these.
            knows: the scores are the second stage's.
        """
        limits = self._second if knows else self._first
        odds = np.exp(scores - scores.max())
        shares = odds[1:] / odds.sum()
        share = 1.0 - float(odds[0] / odds.sum())
        excluded = ruled_out(word)
        possible = np.array([name not in excluded for name in self._tagger.classes])
        if name_limit and not possible[shares.argmax()]:
            share = float(shares[possible].sum())
        best = int(np.where(possible, shares, -1.0).argmax())
        kind = self._tagger.classes[best]
        if kind not in _OF_NAMES_AND_NUMBERS and shares[best] < _VAGUE * shares.sum():
            kind = "FACT"
        if name_limit and (kind in NAMES or kind == "FACT"):
            listed = class_of(word)  # "aspirin" is a drug, whatever the tagger takes it for
            kind = listed if listed in self._tagger.classes else kind
        limit = limits[kind]
        everyday = name_limit == _NEVER and kind not in _NUMBERS
        if kind in NAMES or name_limit in (_MISSPELT, _IN_PROGRAM, _DIGIT_IN_PROGRAM) or everyday:
            limit = max(limit, name_limit)
        if share >= limit:
            return kind
        listed_from = _ALARMING if word.lower() in _ALARMS else _LISTED
        told = class_of(word) if odds[1:].sum() >= listed_from * odds.sum() else None
        return told if told in self._tagger.classes else None

    def _name_limits(
        self, found: Skeleton, run: Run, language: str, programs: Sequence[tuple[int, int]]
    ) -> list[tuple[float, str]]:
        """Return for each word of a run the share from which it is a name, and the word.

        The share is 0 for words that are not written as everyday words are. A number of a program
        has a class from such a share on.
        """
        if run.is_number:
            written = found.text[run.start : run.end]
            short = sum(map(str.isdecimal, written)) <= _MOST_DIGITS
            in_program = short and overlapping(programs, run.start, run.end)
            least = _IN_PROGRAM if len(written) > 1 else _DIGIT_IN_PROGRAM
            return [(least if in_program else 0.0, written)]
        opening = run.start == 0 or _OPENING.search(found.text, max(0, run.start - 4), run.start)
        limits: list[tuple[float, str]] = []
        for number, (start, end) in enumerate(run.words):
            word = found.text[start:end]
            opens = opening is not None and number == 0
            letter = _EVERYDAY if is_lone(found.text, start, end) else 0.0
            limits.append((letter or self._name_limit(word, opens, language), word))
        return limits

    def _name_limit(self, word: str, opens: bool, language: str) -> float:
        """Return the share from which a word is a name, 0 if it is not written as everyday words.

        Those are listed words in lower case, and listed words that are no names where a sentence or
        line opens, where all letters are capitals, and in German.
        """
        plain = word.lower()
        if plain in given_names():
            return 0.0
        free = word.islower() or opens or language == "de" or (word.isupper() and len(word) > 3)
        core = unelided(plain) if language == "fr" else plain
        if free and (
            core in foreign_words(language) or (language == "fr" and is_french_form(core))
        ):
            return _NEVER
        if not word.islower() and (not free or plain in self._forms.lower):
            return 0.0
        if self._forms.known(word):
            everyday = _COINED if self._forms.coined(plain) else _EVERYDAY
            return everyday if language == "en" else _NEVER
        return _MISSPELT if misspelt(word, self._forms) else 0.0

    def _asked(self, found: Skeleton, run: Run) -> tuple[list[int], list[int]]:
        """Return a run's pieces as the tagger reads them; under "skeleton" that is one mask."""
        if self._mode == "skeleton":
            return [self._pieces.mask], [0] * (1 if run.is_number else len(run.words))
        return self._run_pieces(found, run)

    def _run_pieces(self, found: Skeleton, run: Run) -> tuple[list[int], list[int]]:
        """A run's word pieces, and the number of the first piece of each of its words."""
        if run.is_number:
            return self._pieces.encode(found.text[run.start : run.end]) or [self._pieces.unknown], [
                0
            ]
        ids: list[int] = []
        firsts: list[int] = []
        at = run.start
        for start, end in run.words:
            ids += self._pieces.encode(found.text[at:start])
            firsts.append(len(ids))
            ids += self._pieces.encode(found.text[start:end]) or [self._pieces.unknown]
            at = end
        return ids, firsts

    def _tokens(self, found: Skeleton) -> _Tokens:
        """The skeleton's tokens; in mode "reading", the original's."""
        ids: list[int] = []
        chars: list[int] = []
        slots: list[int] = []
        at = 0
        for run in found.runs:
            self._add(found.text, at, run.start, ids, chars)
            slots.append(len(ids))
            if run.kind == WORD:
                own = self._run_pieces(found, run)[0] if self._mode == "reading" else None
                ids += own or [self._pieces.mask]
            else:
                ids += self._pieces.encode(_READS.get(run.kind, run.kind.lower().replace("_", " ")))
            chars += [-1] * (len(ids) - len(chars))
            at = run.end
        self._add(found.text, at, len(found.text), ids, chars)
        return _Tokens(
            np.array(ids, dtype=np.int64),
            np.array(slots, dtype=np.int64),
            np.array(chars, dtype=np.int64),
        )

    def _add(self, text: str, start: int, end: int, ids: list[int], chars: list[int]) -> None:
        """Add the tokens of a stretch of visible text, and where each of them begins."""
        for token, offset in self._pieces.placed(text[start:end]):
            ids.append(token)
            chars.append(start + offset)


def _windows(n: int, room: int) -> Iterator[tuple[int, int, int, int]]:
    """Cover n tokens by windows of at most `room`: (begin, end, first, last), where `first` to
    `last` is what the window decides."""
    if n <= room:
        yield 0, n, 0, n
        return
    step = room - 2 * _MARGIN
    for first in range(0, n, step):
        last = min(first + step, n)
        yield max(0, first - _MARGIN), min(n, last + _MARGIN), first, last


def is_lone(text: str, start: int, end: int) -> bool:
    """Return True for a single letter that is no initial and no part of a number or name."""
    beside = text[max(0, start - 1) : start] + text[end : end + 1]
    return end - start == 1 and _GLUED.isdisjoint(beside)


def _facts(text: str, tokens: _Tokens, odds: NDArray[np.float32], limit: float) -> Iterator[Told]:
    """Yield the sentences with a visible word that seems to tell something private."""
    visible = np.flatnonzero(tokens.chars >= 0)
    places = tokens.chars[visible]
    for sentence in _SENTENCE.finditer(text):
        first, last = np.searchsorted(places, [sentence.start(), sentence.end()])
        telling = places[first:last][odds[visible[first:last]] > limit]
        if len(telling):
            yield Told(sentence.start(), sentence.end(), tuple(map(int, telling)))
