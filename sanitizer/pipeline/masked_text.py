"""One text with its private units hidden, and the words that were chosen for them.

`MaskedText` never changes after it was made. `Choices` holds what was drawn for one masked text so
far, and writes the sanitized text once every word has been drawn.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sanitizer.detect import reads_as
from sanitizer.lm import WordPieces
from sanitizer.results import Replacement
from sanitizer.text import Segmented, Unit, article_for, cased, folded

_NO_IDS: NDArray[np.int64] = np.array([], dtype=np.int64)
_NO_SLOTS: NDArray[np.intp] = np.array([], dtype=np.intp)


class Cut(NamedTuple):
    """A stretch of the original that is replaced: unit number `unit`, or an article before it."""

    start: int
    end: int
    unit: int
    kind: str


class MaskedText:
    """One text, cut at its private units and tokenized with its private words hidden. Immutable.

    It holds private words and never leaves this machine.

    Args:
        text: the original.
        segmented: its units and articles.
        stand_ins: released value of each unit; None for a word that is to be drawn.
        pieces: tokenizer of the masked model; None if no word is drawn by its context.
        consistent: equal words share one draw.

    Attributes:
        ids: int64 [n_tokens], read-only: public tokens, and one [MASK] for each word.
        slots: int [n_words], ascending positions of the words in `ids`.
        words: the word units, in order. found: of each unit, what found it.
        drawn: numbers of the words that get a draw of their own, ascending.
        followers: drawn word -> the words that take its output, itself first.
        n_public: number of words released as they are. n_declared: those declared public.
        language: language of the text, where a detector read it.
        facts: stretches that seem to tell a sensitive fact in everyday words.
        n_numbers: number of numbers replaced at random.
        n_identifiers: number of units replaced by a value from the vault.
        max_repeats: number of occurrences of the most repeated private word.
    """

    def __init__(
        self,
        text: str,
        segmented: Segmented,
        stand_ins: Sequence[str | None],
        pieces: WordPieces | None,
        consistent: bool,
    ) -> None:
        self.text = text
        self.stand_ins = tuple(stand_ins)
        self._pieces = pieces
        units, articles = segmented.units, segmented.articles
        self.found = [unit.found for unit in units]
        cuts = [Cut(unit.start, unit.end, i, unit.kind) for i, unit in enumerate(units)]
        cuts += [Cut(each.start, each.end, each.unit, "article") for each in articles]
        self.cuts = sorted(cuts) if articles else cuts
        self.words: tuple[Unit, ...] = tuple([unit for unit in units if unit.kind == "word"])
        self.n_public = segmented.n_public
        self.n_declared = segmented.n_declared
        self.facts = segmented.facts
        self.language = segmented.language
        self.n_numbers = len([unit for unit in units if unit.kind == "number"])
        self.n_identifiers = len(units) - self.n_numbers - len(self.words)
        spelled = [folded(word.text) for word in self.words]
        self.max_repeats = max(Counter(spelled).values(), default=0)
        self.followers = _followers(spelled, consistent)
        self.drawn = tuple(self.followers)
        self.ids, self.slots = self._hidden(pieces) if pieces else (_NO_IDS, _NO_SLOTS)

    def _hidden(self, pieces: WordPieces) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """Return the tokens with every word hidden, and the positions of the words."""
        ids: list[int] = []
        slots: list[int] = []
        at = 0
        for cut in self.cuts:
            ids += pieces.encode(self.text[at : cut.start])
            at = cut.end
            if cut.kind == "word":
                slots.append(len(ids))
                ids.append(pieces.mask)
            else:
                ids += pieces.encode(self._read_as(cut))
        ids += pieces.encode(self.text[at:])
        hidden = np.array(ids, dtype=np.int64)
        hidden.setflags(write=False)
        return hidden, np.array(slots, dtype=np.intp)

    def _read_as(self, cut: Cut) -> str:
        """Return what the model reads for an article, a number or an identifier."""
        if cut.kind == "article":
            return "a"  # always: "an" would tell how the private word begins
        return reads_as(cut.kind) if cut.kind.isupper() else self.stand_ins[cut.unit] or ""

    @property
    def covered(self) -> list[tuple[int, int]]:
        """Stretches of the original that are replaced, ascending."""
        return [(cut.start, cut.end) for cut in self.cuts]

    def article(self, value: str, original: str) -> str:
        """Return the article before a released value.

        Before a placeholder it stays where no word is drawn by its context, so that the text comes
        back byte for byte; the record's `public` says that layout and public words do.
        """
        stays = self._pieces is None and value.startswith("<")
        return original if stays else article_for(value, original)

    def original_ids(self) -> tuple[NDArray[np.int64], NDArray[np.intp], NDArray[np.intp]]:
        """Return the tokens of the ORIGINAL text, and where each word begins and ends in them.

        Returns:
            ids int64 [n], begins int [n_words], ends int [n_words].
        """
        assert self._pieces is not None
        ids: list[int] = []
        spans: list[tuple[int, int]] = []
        at = 0
        for unit in self.words:
            ids += self._pieces.encode(self.text[at : unit.start])
            own = self._pieces.encode(unit.text)
            spans.append((len(ids), len(ids) + len(own)))
            ids += own
            at = unit.end
        ids += self._pieces.encode(self.text[at:])
        begins, ends = np.array(spans, dtype=np.intp).reshape(-1, 2).T
        return np.array(ids, dtype=np.int64), begins, ends

    def stretches(self, original: bool) -> list[str]:
        """Return the text before each word, from the end of the word before; str [n_words].

        Args:
            original: take the original text; otherwise identifiers, numbers and articles read as
                the masked model reads them.
        """
        found, at = [""], 0
        for cut in self.cuts:
            if original and cut.kind != "word":
                continue
            found[-1] += self.text[at : cut.start]
            at = cut.end
            if cut.kind == "word":
                found.append("")
            else:
                found[-1] += self._read_as(cut)
        return found[:-1]


class Choices:
    """The outputs drawn so far for the words of one masked text. One thread fills it.

    Attributes:
        masked: the text they belong to.
        ids: int64 [n_tokens], the tokens of `masked` with the released words filled in.
        claims: what the published algorithm claims for each draw; empty if certified.
    """

    def __init__(self, masked: MaskedText) -> None:
        self.masked = masked
        self.ids = masked.ids.copy()
        self.claims: list[float] = []
        self._words: list[str | None] = [None] * len(masked.words)

    def release(self, word: int, text: str, token: int) -> None:
        """Put an output in place of a drawn word and of every equal word that follows it.

        Args:
            word: number of the drawn word.
            text: the output; capitalized here where a sentence begins.
            token: the output as a token of the masked model.
        """
        masked = self.masked
        for i in masked.followers[word]:
            self._words[i] = cased(text, True) if masked.words[i].opens_sentence else text
            self.ids[masked.slots[i]] = token

    def written(self, word: int) -> str:
        """Return the text released for a word.

        Raises:
            RuntimeError: the word was not drawn.
        """
        text = self._words[word]
        if text is None:
            raise RuntimeError("a unit was not drawn")
        return text

    def finish(self) -> tuple[str, tuple[Replacement, ...]]:
        """Return the sanitized text and its replacements.

        Raises:
            RuntimeError: a word was never drawn.
        """
        masked, words = self.masked, iter(self._words)
        new = [next(words) if each is None else each for each in masked.stand_ins]
        written: list[str] = []
        replacements: list[Replacement] = []
        at, length = 0, 0
        for start, end, unit, kind in masked.cuts:
            original, value = masked.text[start:end], new[unit]
            if value is None:
                raise RuntimeError("a unit was not drawn")
            if kind == "article":
                value = masked.article(value, original)
            written += (masked.text[at:start], value)
            length += start - at
            if kind != "article" or value != original:
                found = "" if kind == "article" else masked.found[unit]
                replacements.append(
                    Replacement(length, length + len(value), value, kind, original, found)
                )
            at = end
            length += len(value)
        written.append(masked.text[at:])
        return "".join(written), tuple(replacements)


def _followers(words: Sequence[str], consistent: bool) -> dict[int, list[int]]:
    """Return drawn word -> the words that take its output, itself first, in ascending order."""
    if not consistent:
        return {i: [i] for i in range(len(words))}
    places: defaultdict[str, list[int]] = defaultdict(list)
    for i, word in enumerate(words):
        places[word].append(i)
    return {same[0]: same for same in places.values()}
