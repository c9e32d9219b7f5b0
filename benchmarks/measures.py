"""What one mechanism does to held-out sentences: meaning, readability, task accuracy, and three attacks.

Per private word, without drawing, from exact distributions: `cosine` of the word vectors of word and output (0
where one has none), `kept` (the word itself is released), `knn_1` and `knn_10` (the word is among the 1 or 10 words
of Y nearest to the output), `plausibility` (log-probability of the output in the original context), and, at some
places, `map` (the best guess of an attacker who knows the mechanism, its settings and the context, with the masked
LM's prior over 101 candidates).
Per fresh draw of a sentence: `rouge_l`, `sentence_cosine`, `accuracy` of a sentiment classifier trained on clean
text, and at some places `nll` (nats of the released word given the released rest: its mean's exponential is the
pseudo-perplexity), `mti_1` and `mti_10` (the masked LM names the private word from the released text).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.baselines.base import Floats, Places
from benchmarks.sentences import SentenceEncoder, Sentiment
from benchmarks.subjects import Logits, OverNoise, Subject, draws
from models.build.fetch import CACHE
from sanitizer.attacks import rouge_l
from sanitizer.backbone import MaskedLM
from sanitizer.draft import Draft
from sanitizer.pipeline import Sanitizer
from sanitizer.posterior import guessed
from sanitizer.text import WordPieces
from sanitizer.trials import SameNumbers
from sanitizer.vocabulary import Nearest, Prior, Vocabulary, public_logits
from sanitizer.windows import Batch, Row, batches, centred_rows

EXACT = ("cosine", "kept", "knn_1", "knn_10", "plausibility")
DRAWN = ("rouge_l", "sentence_cosine", "accuracy")
INFERRED = ("nll", "mti_1", "mti_10")
LIKELY, NEAR = 50, 50  # candidates of the best guess besides the word itself
BATCH_TOKENS = 1024
N_NOISY = 20  # draws that stand for the distribution of a mechanism that has no table
Sums = NDArray[np.float64]
Hits = NDArray[np.bool_]


class Tokens:
    """Every token as a word: its text, its vector, and how near its tenth neighbor in Y is."""

    def __init__(self, model: MaskedLM, pieces: WordPieces) -> None:
        self.texts = [pieces.token(i).lower() for i in range(model.pieces.n_rows)]
        rows = np.array([model.words.row(t) for t in self.texts], dtype=np.intp)
        unit = model.words.vectors[rows].astype(np.float32) / model.words.norms[rows, None]
        self.vectors: Logits = np.where(rows[:, None] >= 0, unit, 0).astype(np.float32)
        self.has_vector = rows >= 0
        self._table = model.words
        self._same: defaultdict[str, list[int]] = defaultdict(list)
        for token, text in enumerate(self.texts):
            self._same[text].append(token)
        distinct = np.unique([self.texts[i] for i in model.output_ids], return_index=True)[1]
        self.first, self.tenth = self._bounds(self.vectors[model.output_ids[distinct]], model.sha256)

    def _bounds(self, words: Logits, key: str) -> tuple[Logits, Logits]:
        """Cosine to the nearest and to the tenth word of Y, float32 [n_tokens] each; kept in the build cache."""
        path = CACHE / f"tenth-{key[:16]}.npy"
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            near = [
                -np.partition(-(self.vectors[i : i + 512] @ words.T), (0, 9), axis=1)[:, [0, 9]]
                for i in range(0, len(self.vectors), 512)
            ]
            np.save(path, np.concatenate(near))
        first, tenth = np.load(path).T
        return first, tenth

    def cosine(self, word: str, other: str) -> float:
        """Of two words' vectors; 0 where one has none."""
        rows = [self._table.row(w) for w in (word, other)]
        if min(rows) < 0:
            return float(word.lower() == other.lower())
        first, second = (self._table.vectors[r].astype(np.float32) / self._table.norms[r] for r in rows)
        return float(first @ second)

    def compare(self, word: str) -> tuple[Logits, Hits, Hits, Hits]:
        """To every token: cosine float32, whether it is the word itself, and whether it finds it among 1 or 10."""
        row, same = self._table.row(word), np.zeros(len(self.texts), dtype=bool)
        same[self._same.get(word.lower(), [])] = True
        if row < 0:
            return same.astype(np.float32), same, same, same
        own = self._table.vectors[row].astype(np.float32) / self._table.norms[row]
        cosine = np.where(same, np.float32(1), self.vectors @ own)
        near = [(cosine >= bound - 1e-6) & self.has_vector | same for bound in (self.first, self.tenth)]
        return cosine, same, near[0], near[1]


@dataclass(frozen=True)
class Place:
    """One private word and its contexts.

    Attributes:
        released: float32 [n_outputs], scores over Y with every private word hidden.
        original: float32 [n_tokens], scores over all tokens in the original text.
        prior: what the best guesser believes beforehand; None where this attack is not run.
    """

    word: str
    released: Logits
    original: Logits
    prior: Prior | None

    def logits(self, context: str) -> Logits | None:
        """What a mechanism with this kind of context reads."""
        return {"none": None, "released": self.released, "original": self.original}[context]


class Bench:
    """Sentences with everything that is the same for all mechanisms.

    Args:
        sentences: (text, 1 if positive). policy: preset name.
        n_guessed: places per sentence, evenly spaced, at which the
            two attacks that cost most, `map` and `mti`, and `nll` are measured.
    """

    def __init__(
        self,
        model: MaskedLM,
        pieces: WordPieces,
        encoder: SentenceEncoder,
        sentiment: Sentiment,
        sentences: list[tuple[str, int]],
        policy: str,
        n_guessed: int,
    ) -> None:
        self.model, self._pieces, self._encoder, self._sentiment = model, pieces, encoder, sentiment
        self._sanitizer, self._n_guessed = Sanitizer(policy=policy, model=model), n_guessed
        self.tokens, self.vocabulary = Tokens(model, pieces), Vocabulary(model)
        self._near = Nearest(model, self.vocabulary)
        self.sentences = [(t, y) for t, y in sentences if self.draft(t).words]
        self.places = [self._places(text) for text, _ in self.sentences]
        self._clean = encoder.encode([t for t, _ in self.sentences])

    @property
    def clean_accuracy(self) -> Sums:
        """Whether each original sentence is classified right, float64 [n]."""
        labels = np.array([y for _, y in self.sentences])
        return np.asarray(self._sentiment.predict(self._clean) == labels, dtype=np.float64)

    def draft(self, text: str) -> Draft:
        return self._sanitizer.draft(text, SameNumbers())

    def _places(self, text: str) -> list[Place]:
        draft = self.draft(text)
        released, every = public_logits(self.model, self._pieces, draft), np.arange(len(draft.words))
        rows = list(centred_rows(0, *draft.original_ids(), every, self._pieces.mask, self.model.max_length))
        original = np.concatenate([self._scores(b) for b in self._batches(rows)])
        guessed_at = set(every[:: max(1, len(every) // self._n_guessed)][: self._n_guessed].tolist())
        found = []
        for i, unit in enumerate(draft.words):
            near = self._near.places(unit.text, NEAR)
            prior = self.vocabulary.prior(released[i], unit.text, LIKELY, near) if i in guessed_at else None
            found.append(Place(unit.text, released[i], original[i], prior))
        return found

    def _batches(self, rows: Sequence[Row]) -> Iterator[Batch]:
        return batches(rows, (self._pieces.cls, self._pieces.sep), BATCH_TOKENS)

    def _scores(self, batch: Batch) -> Logits:
        return self.model.full_logits(batch.ids, batch.lengths, batch.at)

    def measure(self, subject: Subject, n_draws: int) -> dict[str, list[float]]:
        """Per sentence, float lists [n_sentences]: sums over words for `EXACT`, `map` and `INFERRED`, with their
        counts `n_words`, `n_guessed`, `n_inferred`; means over draws for `DRAWN`."""
        found: dict[str, list[float]] = {}
        drawn: list[list[list[int]]] = []
        for places in self.places:
            sums, outputs = self.of_words(subject, places, n_draws)
            drawn.append(outputs)
            for name, value in sums.items():
                found.setdefault(name, []).append(value)
        return found | self._of_texts(drawn, n_draws)

    def of_words(self, subject: Subject, places: list[Place], n_draws: int) -> tuple[dict[str, float], list[list[int]]]:
        """Sums of the exact figures over one sentence's words, and `n_draws` token ids for each."""
        sums = dict.fromkeys((*EXACT, "map", "n_guessed"), 0.0) | {"n_words": float(len(places))}
        outputs = []
        for place in places:
            logits = place.logits(subject.context)
            if isinstance(subject, OverNoise):
                many = subject.tokens[subject.draw(place.word, n_draws + N_NOISY)]
                chosen, where, p = many[:n_draws], many[n_draws:], np.full(N_NOISY, 1 / N_NOISY)
            else:
                table = subject.table([place.word], logits)
                where, p = subject.tokens[table.outputs], table.p[0]
                chosen = subject.tokens[draws(table, n_draws)]
            outputs.append(chosen.tolist())
            for name, value in zip(EXACT, self._word(place, where, p), strict=True):
                sums[name] += value
            if place.prior is not None:
                sums["n_guessed"] += 1
                sums["map"] += self._best_guess(subject, place, logits, where, p)
        return sums, outputs

    def _word(self, place: Place, tokens: Places, p: Floats) -> list[float]:
        shifted = place.original - place.original.max()
        logs = shifted - np.log(np.exp(shifted).sum())
        return [float(p @ values[tokens]) for values in (*self.tokens.compare(place.word), logs)]

    def _best_guess(self, subject: Subject, place: Place, logits: Logits | None, tokens: Places, p: Floats) -> float:
        assert place.prior is not None
        table = subject.table(place.prior.words, logits)
        if not isinstance(subject, OverNoise):
            return float(guessed(place.prior, table).sum())
        best = (place.prior.mass[:, None] * table.p).argmax(axis=0) == place.prior.truth
        by_token = np.zeros(len(self.tokens.texts))
        by_token[subject.tokens[table.outputs]] = best
        return float(p @ by_token[tokens])

    def _of_texts(self, drawn: list[list[list[int]]], n_draws: int) -> dict[str, list[float]]:
        """Figures of the released texts; drawn[sentence][place][draw] is a token id."""
        drafts, texts = [], []
        for (text, _), outputs in zip(self.sentences, drawn, strict=True):
            for k in range(n_draws):
                draft = self.draft(text)
                for i, tokens in enumerate(outputs):
                    draft.release(i, self._pieces.token(tokens[k]), tokens[k])
                drafts.append(draft)
                texts.append(draft.finish()[0])
        shape = (len(self.sentences), n_draws)
        vectors = self._encoder.encode(texts)
        labels = np.repeat([y for _, y in self.sentences], n_draws)
        cosines = (vectors * np.repeat(self._clean, n_draws, axis=0)).sum(axis=1)
        originals = [t for t, _ in self.sentences for _ in range(n_draws)]
        rouge = np.array([rouge_l(a, b) for a, b in zip(originals, texts, strict=True)])
        right = self._sentiment.predict(vectors) == labels
        means = [np.asarray(v, dtype=np.float64).reshape(shape).mean(axis=1) for v in (rouge, cosines, right)]
        inferred = self._inferred(drafts, n_draws)
        return {n: m.tolist() for n, m in zip(DRAWN, means, strict=True)} | inferred

    def _attacked(self, sentence: int) -> Places:
        """The places at which the costly attacks are run, int [n]."""
        return np.array([i for i, place in enumerate(self.places[sentence]) if place.prior is not None], dtype=np.intp)

    def _inferred(self, drafts: list[Draft], n_draws: int) -> dict[str, list[float]]:
        mask = self._pieces.mask
        rows = [
            row
            for number, d in enumerate(drafts)
            for row in centred_rows(
                number, d.ids, d.slots, d.slots + 1, self._attacked(number // n_draws), mask, self.model.max_length
            )
        ]
        sums = np.zeros((len(drafts) // n_draws, 4))
        for batch in self._batches(rows):
            scores = self._scores(batch)
            for (number, word), row in zip(batch.units, scores, strict=True):
                draft = drafts[number]
                token = draft.ids[draft.slots[word]]
                nll = float(np.log(np.exp(row - row.max()).sum()) + row.max() - row[token])
                rank = self.vocabulary.rank(row[self.model.output_ids], draft.words[word].text)
                sums[number // n_draws] += (nll, rank < 1, rank < 10, 1)
        return {n: sums[:, i].tolist() for i, n in enumerate((*INFERRED, "n_inferred"))}


def cache_folder() -> Path:
    """Where finished entries are kept, so that a run can be taken up again."""
    return CACHE / "frontier"
