"""One text on its way: segmented, tokenized with its units hidden, and at last put together again."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sanitizer.lm import WordPieces
from sanitizer.results import Replacement
from sanitizer.text import Segmented, Unit, article_for, cased, folded, reads_as

_NOTHING: NDArray[np.int64] = np.array([], dtype=np.int64)


class _Cut(NamedTuple):
    """A stretch of the original that is replaced: unit number `unit`, or the article that leans on
    it.
    """

    start: int
    end: int
    unit: int
    kind: str


class MaskedText:
    """Working state of one text. It holds private words and never leaves the pipeline.

    Args:
        text: the original. segmented: its units and articles.
        released: for each unit what stands in its place, or None for a word that is to be drawn.
        pieces: the model's tokenizer; None if no word is to be drawn: then articles stay too.
        consistent: equal words share one draw.

    Attributes:
        ids: int64 [n_tokens], public tokens with one [MASK] per word; released words are filled in.
        slots: int [n_words], ascending places of the words in `ids`.
        words: the word units, in order.
        drawn: numbers of the words that get a draw of their own.
    """

    def __init__(
        self,
        text: str,
        segmented: Segmented,
        released: Sequence[str | None],
        pieces: WordPieces | None,
        consistent: bool,
    ) -> None:
        self._text, self._segmented, self._pieces = text, segmented, pieces
        self._released = list(released)
        self._cuts = sorted(
            [_Cut(u.start, u.end, i, u.kind) for i, u in enumerate(segmented.units)]
            + [_Cut(a.start, a.end, a.unit, "article") for a in segmented.articles if pieces]
        )
        self._numbers = [i for i, u in enumerate(segmented.units) if u.kind == "word"]
        self.words: list[Unit] = [segmented.units[i] for i in self._numbers]
        self._followers = (
            _followers([folded(w.text) for w in self.words], consistent) if self.words else {}
        )
        self.drawn = sorted(self._followers)
        self.ids, self.slots = self._hidden(pieces) if pieces else (_NOTHING, _NOTHING)

    def _hidden(self, pieces: WordPieces) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """Tokens with every word hidden. Articles read "a": their form would tell of the private
        word.
        """
        ids: list[int] = []
        slots: list[int] = []
        at = 0
        for cut in self._cuts:
            ids += pieces.encode(self._text[at : cut.start])
            at = cut.end
            if cut.kind == "word":
                slots.append(len(ids))
                ids.append(pieces.mask)
            else:
                ids += pieces.encode(self._stand_in(cut))
        ids += pieces.encode(self._text[at:])
        return np.array(ids, dtype=np.int64), np.array(slots, dtype=np.intp)

    def _stand_in(self, cut: _Cut) -> str:
        """What the model reads for an article, a number, or a unit that went to the vault."""
        if cut.kind == "article":
            return "a"
        return reads_as(cut.kind) if cut.kind.isupper() else self._released[cut.unit] or ""

    def release(self, word: int, text: str, token: int) -> None:
        """Put an output in place of a drawn word, and of every equal word that follows it."""
        for i in self._followers[word]:
            self._released[self._numbers[i]] = cased(text, self.words[i].opens_sentence)
            self.ids[self.slots[i]] = token

    def original_ids(self) -> tuple[NDArray[np.int64], NDArray[np.intp], NDArray[np.intp]]:
        """Tokens of the ORIGINAL text: ids int64 [n], and each word's begin and end in them, int
        [n_words].
        """
        assert self._pieces is not None
        ids: list[int] = []
        spans: list[tuple[int, int]] = []
        at = 0
        for unit in self.words:
            ids += self._pieces.encode(self._text[at : unit.start])
            known = self._pieces.encode(unit.text)
            spans.append((len(ids), len(ids) + len(known)))
            ids += known
            at = unit.end
        ids += self._pieces.encode(self._text[at:])
        begins, ends = np.array(spans, dtype=np.intp).reshape(-1, 2).T
        return np.array(ids, dtype=np.int64), begins, ends

    def stretches(self, original: bool) -> list[str]:
        """What stands before each word, from the end of the word before, as a model reads it; str
        [n_words].

        Args:
            original: of the original text; otherwise with stand-ins for all that is private, and
                "a" for articles.
        """
        found, at = [""], 0
        for cut in self._cuts:
            if original and cut.kind != "word":
                continue
            found[-1] += self._text[at : cut.start]
            at = cut.end
            if cut.kind == "word":
                found.append("")
            else:
                found[-1] += self._stand_in(cut)
        return found[:-1]

    def written(self, word: int) -> str:
        """What was released for a word.

        Raises:
            RuntimeError: it was not drawn.
        """
        text = self._released[self._numbers[word]]
        if text is None:
            raise RuntimeError("a unit was not drawn")
        return text

    def finish(self) -> tuple[str, tuple[Replacement, ...]]:
        """The sanitized text and its replacements.

        Raises:
            RuntimeError: if a unit was never drawn.
        """
        parts: list[str] = []
        replacements: list[Replacement] = []
        at, length = 0, 0
        for cut in self._cuts:
            parts.append(self._text[at : cut.start])
            length += cut.start - at
            original, at = self._text[cut.start : cut.end], cut.end
            new = self._released[cut.unit]
            if new is None:
                raise RuntimeError("a unit was not drawn")
            if cut.kind == "article":
                new = article_for(new, original)
            replacements.append(Replacement(length, length + len(new), new, cut.kind, original))
            parts.append(new)
            length += len(new)
        parts.append(self._text[at:])
        kept = tuple(r for r in replacements if r.kind != "article" or r.replacement != r.original)
        return "".join(parts), kept

    @property
    def n_public(self) -> int:
        """Words released as they are."""
        return self._segmented.n_public

    @property
    def n_numbers(self) -> int:
        """Numbers replaced at random."""
        return sum(u.kind == "number" for u in self._segmented.units)

    @property
    def n_identifiers(self) -> int:
        """Units that went to the vault."""
        return sum(u.kind.isupper() for u in self._segmented.units)

    def max_repeats(self) -> int:
        """How often the most repeated private word stands in the text."""
        return max(Counter(folded(w.text) for w in self.words).values(), default=0)


def _followers(words: list[str], consistent: bool) -> dict[int, list[int]]:
    """Drawn word -> the words that take its output, itself first."""
    if not consistent:
        return {i: [i] for i in range(len(words))}
    places: defaultdict[str, list[int]] = defaultdict(list)
    for i, word in enumerate(words):
        places[word].append(i)
    return {indices[0]: indices for indices in places.values()}
