"""One text with its private units hidden, and what is released in their place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sanitizer.detect.units import reads_as
from sanitizer.lm.tokens import WordPieces
from sanitizer.results import Replacement
from sanitizer.storage.table import RELEASED, Row
from sanitizer.text.words import Segmented, Unit, article_for, cased, folded

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
        surrogates: released value of each unit; None for a word that is to be drawn.
        pieces: tokenizer of the masked model; None if no word is drawn by its context.
        consistent: equal words share one draw.
        n_new: how many of the surrogates were drawn within their classes for this text.
        decided: what an answer to it asked for, as a person decided.

    Attributes:
        cuts: what is replaced, ascending.
        ids: int64 [n_tokens], read-only: public tokens, and one [MASK] for each word.
        slots: int [n_words], ascending positions of the words in `ids`.
        followers: drawn word -> the words that take its output, itself first.
        drawn: numbers of the words that get a draw of their own, ascending.
        n_numbers: number of numbers replaced at random.
        n_identifiers: number of units replaced by a value from the vault.
        max_repeats: number of occurrences of the most repeated private word.
    """

    def __init__(
        self,
        text: str,
        segmented: Segmented,
        surrogates: Sequence[str | None],
        pieces: WordPieces | None,
        consistent: bool,
        n_new: int = 0,
        decided: Sequence[Row] = (),
    ) -> None:
        self.text, self.segmented, self.surrogates = text, segmented, tuple(surrogates)
        self.n_new, self.decided = n_new, tuple(decided)
        self._pieces = pieces
        units = segmented.units
        cuts = [Cut(unit.start, unit.end, i, unit.kind) for i, unit in enumerate(units)]
        cuts += [Cut(each.start, each.end, each.unit, "article") for each in segmented.articles]
        self.cuts = sorted(cuts) if segmented.articles else cuts
        self.words: tuple[Unit, ...] = tuple([unit for unit in units if unit.kind == "word"])
        self.n_numbers = len([unit for unit in units if unit.kind == "number"])
        self.n_identifiers = len(units) - self.n_numbers - len(self.words)
        places: defaultdict[str, list[int]] = defaultdict(list)
        for i, word in enumerate(self.words):
            places[folded(word.text)].append(i)
        self.max_repeats = max(map(len, places.values()), default=0)
        self.followers = (
            {same[0]: same for same in places.values()}
            if consistent
            else {i: [i] for i in range(len(self.words))}
        )
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
        return reads_as(cut.kind) if cut.kind.isupper() else self.surrogates[cut.unit] or ""

    @property
    def covered(self) -> list[tuple[int, int]]:
        """Stretches of the original that are replaced, ascending."""
        return [(cut.start, cut.end) for cut in self.cuts]

    def render(self, drawn: Sequence[str | None] = ()) -> tuple[str, tuple[Replacement, ...]]:
        """Return the sanitized text and its replacements.

        Args:
            drawn: text released for each word.

        Raises:
            RuntimeError: a word was never drawn.
        """
        words = iter(drawn)
        new = [next(words, None) if each is None else each for each in self.surrogates]
        written: list[str] = []
        replacements: list[Replacement] = []
        at, length = 0, 0
        for start, end, unit, kind in self.cuts:
            original, value = self.text[start:end], new[unit]
            if value is None:
                raise RuntimeError("a unit was not drawn")
            # Before a placeholder an article stays where no word is drawn by its context, so that
            # the text comes back byte for byte; the record's `public` says that layout does.
            if kind == "article":
                stays = self._pieces is None and value.startswith("<")
                value = original if stays else article_for(value, original)
            written += (self.text[at:start], value)
            length += start - at
            if kind != "article" or value != original:
                found = "" if kind == "article" else self.segmented.units[unit].found
                replacements.append(
                    Replacement(length, length + len(value), value, kind, original, found)
                )
            at = end
            length += len(value)
        written.append(self.text[at:])
        told = [f"{r.value} = {r.original}" for r in self.decided if r.place == RELEASED]
        return "\n".join(["".join(written), *told]), tuple(replacements)

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
            text: the output; capitalized here where a sentence begins.
            token: the output as a token of the masked model.
        """
        masked = self.masked
        for i in masked.followers[word]:
            self._words[i] = cased(text, True) if masked.words[i].opens_sentence else text
            self.ids[masked.slots[i]] = token

    def written(self, word: int) -> str:
        """Return the text released for a word; raise RuntimeError if it was not drawn."""
        text = self._words[word]
        if text is None:
            raise RuntimeError("a unit was not drawn")
        return text

    def finish(self) -> tuple[str, tuple[Replacement, ...]]:
        """Return the sanitized text and its replacements; raise RuntimeError if a word is left."""
        return self.masked.render(self._words)
