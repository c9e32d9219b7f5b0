"""Endless batches of training examples: which texts, varied how, and as which arrays."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from models.build.tagger import data
from models.build.tagger.data import CLASSES, FACT, Example, Span
from models.build.tagger.encode import N_PIECES, NOTHING, Encoded, Encoder, word_labels
from models.build.tagger.fill import Fillers

CORPORA = {"wikigold": 3.0, "wnut17": 4.0, "btc": 4.0, "sec": 1.2, "presidio": 2.0}
"""Weights with which corpora are drawn; the others' shares stand in `Mixture.example`."""
MAX_TOKENS = 200
READING_SHARE = 0.12
"""Share of texts whose skeleton shows hidden words, so that the detector "reading" works too."""
UNREAD_SHARE = 0.05
"""Share of runs whose own pieces are masked, so that the detector "skeleton" works too."""
FACT_WEIGHT = 0.7
PUPA_WEIGHT = 0.3


class Mixture:
    """Draws training examples.

    Args:
        folder: the folder of data.
        topics: of templates that half of all templates are drawn from; default none.
    """

    def __init__(self, folder: Path, seed: int = 7, topics: Sequence[str] = ()) -> None:
        self.rng = random.Random(seed)
        self._fillers = Fillers(folder)
        self._sensitive, self._negative = data.templates("sensitive"), data.templates("negative")
        self._chosen = {
            name: data.templates(name, topics) if topics else []
            for name in ("sensitive", "negative")
        }
        self._corpora, _ = data.corpora(folder)
        self._seeds = data.instructions(folder)
        self._pupa = data.pupa(folder)

    @property
    def counts(self) -> dict[str, int]:
        """Return how many texts there are of each sort, for the log."""
        sentences = sum(len(corpus) for corpus in self._corpora.values())
        found = len(self._sensitive), len(self._negative), sentences
        return dict(zip(data.COUNTED, found, strict=True))

    def example(self) -> Example:
        """Return another example, perhaps varied."""
        rng, drawn = self.rng, self.rng.random()
        if drawn < 0.46:
            found = self._from_template("sensitive", self._sensitive)
        elif drawn < 0.69:
            found = self._from_template("negative", self._negative)
        elif drawn < 0.71:
            found = rng.choice(self._seeds)
        elif drawn < 0.725:
            found = rng.choice(self._pupa)
        else:
            found = self._from_corpus()
        return self._varied(found)

    def topical(self, name: str) -> Example:
        """Return a filled template of the chosen topics, perhaps varied.

        Args:
            name: "sensitive" or "negative".
        """
        lines = self._chosen[name]
        return self._varied(data.filled(self.rng.choice(lines), self._fillers))

    def _from_template(self, name: str, lines: Sequence[str]) -> Example:
        """One filled template, of the chosen topics every other time."""
        chosen = self._chosen[name]
        if chosen and self.rng.random() < 0.5:
            lines = chosen
        return data.filled(self.rng.choice(lines), self._fillers)

    def _from_corpus(self) -> Example:
        """One to three sentences of a corpus; texts of the synthetic set stay alone."""
        (name,) = self.rng.choices(list(CORPORA), list(CORPORA.values()))
        corpus = self._corpora[name]
        begin = self.rng.randrange(len(corpus))
        n = self.rng.randint(1, 3) if name != "presidio" else 1
        swapped = [self._swapped(example) for example in corpus[begin : begin + n]]
        return data.joined(swapped[: self.rng.randint(1, n + 1)])

    def _swapped(self, example: Example) -> Example:
        """Put other names into a sentence of a corpus, so that no name is learnt by heart."""
        if not example.spans or self.rng.random() < 0.5:
            return example
        other = {
            "PERSON": self._fillers.person,
            "ORGANIZATION": self._fillers.organization,
            "PLACE": self._fillers.place,
        }
        text, at = "", 0
        spans: list[Span] = []
        for start, end, kind in sorted(example.spans):
            if start < at:
                continue
            text += example.text[at:start]
            swap = kind in other and self.rng.random() < 0.6
            value = other[kind]() if swap else example.text[start:end]
            spans.append((len(text), len(text) + len(value), kind))
            text += value
            at = end
        return replace(example, text=text + example.text[at:], spans=spans)

    def _varied(self, example: Example) -> Example:
        """Perhaps in one case, with typing errors, or as a list item or a quotation."""
        drawn, text = self.rng.random(), example.text
        if drawn < 0.175:
            cased = text.lower() if drawn < 0.16 else text.upper()
            return replace(example, text=cased) if len(cased) == len(text) else example
        if drawn < 0.22:
            return replace(example, text=self._mistyped(text))
        if drawn < 0.25 and example.source == "template" and "\n" not in text:
            return example.shifted("> " if self.rng.random() < 0.5 else "- ")
        return example

    def _mistyped(self, text: str) -> str:
        """Swap neighbouring letters, about one pair in sixty characters."""
        letters = list(text)
        for _ in range(max(1, len(letters) // 60)):
            i = self.rng.randrange(len(letters))
            if letters[i].isalpha() and i + 1 < len(letters) and letters[i + 1].isalpha():
                letters[i], letters[i + 1] = letters[i + 1], letters[i]
        return "".join(letters)


@dataclass
class Batch:
    """Texts and the rows of their runs.

    Attributes:
        texts: the examples as encoded. pieces: ids by row, at most N_PIECES each.
        at: place of each row's slot. row: number of each row's text.
        known: (row, piece, class, weight) of words whose class is known, 0 for none.
        partial: (row, piece, classes) of words that have none of these classes, maybe others.
    """

    texts: list[tuple[Example, Encoded]]
    pieces: list[list[int]] = field(default_factory=list)
    at: list[int] = field(default_factory=list)
    row: list[int] = field(default_factory=list)
    known: list[tuple[int, int, int, float]] = field(default_factory=list)
    partial: list[tuple[int, int, frozenset[str]]] = field(default_factory=list)


class Batches:
    """Yields batches of texts of similar length."""

    def __init__(self, mixture: Mixture, size: int) -> None:
        self._mixture, self._size, self._encoder = mixture, size, Encoder()

    def __iter__(self) -> Iterator[Batch]:
        rng, size = self._mixture.rng, self._size
        while True:
            drawn = sorted((self.text() for _ in range(4 * size)), key=lambda t: len(t[1].ids))
            groups = [drawn[i : i + size] for i in range(0, len(drawn), size)]
            rng.shuffle(groups)
            while groups:
                batch = self.batch(groups.pop())
                if batch.pieces:
                    yield batch

    def text(self) -> tuple[Example, Encoded]:
        """Draw until an example has runs and is short enough."""
        while True:
            example = self._mixture.example()
            if not example.text.strip():
                continue
            reading = self._mixture.rng.random() < READING_SHARE
            encoded = self._encoder.encode(example.text, reading)
            if encoded.runs and len(encoded.ids) <= MAX_TOKENS:
                return example, encoded

    def batch(self, texts: list[tuple[Example, Encoded]]) -> Batch:
        batch = Batch(texts)
        for number, (example, encoded) in enumerate(texts):
            for run, pieces in enumerate(encoded.pieces):
                if pieces:
                    self._add_run(batch, number, example, encoded, run)
        return batch

    def _add_run(
        self, batch: Batch, number: int, example: Example, encoded: Encoded, run: int
    ) -> None:
        """Add the row of one run, and what is known of its words."""
        labels = word_labels(encoded.runs[run], example.spans)
        if example.source == "pupa" and NOTHING in labels:
            labels = [NOTHING] * len(labels)
        row, shown = len(batch.pieces), encoded.pieces[run][:N_PIECES]
        if self._mixture.rng.random() <= UNREAD_SHARE:
            shown = [self._encoder.pieces.mask] * len(shown)
        batch.pieces.append(shown)
        batch.at.append(encoded.at[run])
        batch.row.append(number)
        for piece, label in zip(encoded.firsts[run], labels, strict=True):
            if piece >= N_PIECES or label == NOTHING:
                continue
            if label or example.labelled == data.ALL:
                fact = label and CLASSES[label - 1] == FACT
                batch.known.append((row, piece, label, FACT_WEIGHT if fact else 1.0))
            elif example.source == "pupa":
                batch.known.append((row, piece, 0, PUPA_WEIGHT))
            else:
                batch.partial.append((row, piece, example.labelled))
