"""What mechanisms do to held-out sentences: meaning, readability, task accuracy, and three attacks.

Per private word, without drawing, from exact distributions: `cosine` of the word vectors of word
and output (0 where one has none), `kept` (the word itself is released), `knn_1` and `knn_10` (the
word is among the 1 or 10 words of Y nearest to the output), `plausibility` (log-probability of the
output in the original context), `mapping` (how many different outputs 1,000 draws are expected to
give), and, at some places, `map` (the best guess of an attacker who knows the mechanism, its
settings and the context, with the masked LM's prior over 101 candidates).

Per fresh draw of a sentence: `rouge_l` and `sentence_cosine` to the original, `accuracy` of a
sentiment classifier trained on clean text. At some places, one masked pass for both: `nll` (nats of
the released word given the released rest: its mean's exponential is the pseudo-perplexity), and
`mti_1` and `mti_10` (the masked LM names the private word).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.baselines.words import Floats
from benchmarks.frontier.groups import Group, Logits, Place, Tokens
from benchmarks.frontier.mechanisms import Subject, draws
from sanitizer.lm.masked import Row, centred_rows
from sanitizer.pipeline.masked_text import Choices
from sanitizer.risk.posterior import Vocabulary, guessed
from sanitizer.text.words import word_spans

EXACT = ("cosine", "kept", "knn_1", "knn_10", "plausibility")
DRAWN = ("rouge_l", "sentence_cosine", "accuracy")
INFERRED = ("nll", "mti_1", "mti_10")
MAPPED = 1_000
"""Draws of a word, for `mapping`."""
FEW = 100
"""Outputs; no word has so many spellings that more of them could be fewer than ten words."""
Figures = dict[str, list[float]]
Outputs = list[list[int]]
"""[n_places][n_draws] token ids."""


def measure(group: Group, subjects: Sequence[Subject], n_draws: int) -> list[Figures]:
    """Return for each subject, per sentence, float lists [n_sentences]: sums over words for `EXACT`
    and `map`, and for what is inferred from the released texts, with the counts `n_words`,
    `n_guessed` and `n_inferred`; means over draws for the other figures of the texts.
    """
    sums: list[Figures] = [{} for _ in subjects]
    drawn: list[list[Outputs]] = [[] for _ in subjects]
    for places in group.places:
        for number, (found, outputs) in enumerate(
            of_words(group.tools.tokens, subjects, places, n_draws)
        ):
            drawn[number].append(outputs)
            for name, value in found.items():
                sums[number].setdefault(name, []).append(value)
    return [a | b for a, b in zip(sums, of_texts(group, drawn, n_draws), strict=True)]


def of_words(
    tokens: Tokens, subjects: Sequence[Subject], places: Sequence[Place], n_draws: int
) -> list[tuple[dict[str, float], Outputs]]:
    """Return for each subject the sums of the exact figures over one sentence's words, and
    `n_draws` token ids for each.

    The places are in the outer loop: what subjects share about a word is worked out once.
    """
    names = (*EXACT, "mapping", "map", "n_guessed")
    sums = [dict.fromkeys(names, 0.0) | {"n_words": float(len(places))} for _ in subjects]
    outputs = list[Outputs]([] for _ in subjects)
    for place in places:
        values = _values(tokens, place)
        for subject, found, chosen in zip(subjects, sums, outputs, strict=True):
            logits = place.logits(subject.context)
            table = subject.table([place.word], logits)
            where, p = subject.tokens[table.outputs], table.p[0]
            chosen.append(subject.tokens[draws(table, n_draws)].tolist())
            for name, value in zip(EXACT, values[:, where] @ p, strict=True):
                found[name] += float(value)
            missed = MAPPED * np.log1p(-np.minimum(p, 1 - 1e-15))
            found["mapping"] += float(-np.expm1(missed).sum())
            if place.prior is not None:
                found["n_guessed"] += 1
                guesses = subject.table(place.prior.words, logits)
                found["map"] += float(guessed(place.prior, guesses).sum())
    return list(zip(sums, outputs, strict=True))


def _values(tokens: Tokens, place: Place) -> NDArray[np.float64]:
    """Return what each token would count for, float64 [len(EXACT), n_tokens]."""
    shifted = place.original - place.original.max()
    logs = shifted - np.log(np.exp(shifted).sum())
    return np.stack([*tokens.compare(place.word), logs]).astype(np.float64)


@dataclass(frozen=True)
class _Released:
    """One draw of one sentence under one subject."""

    subject: int
    sentence: int
    choices: Choices
    text: str


def of_texts(group: Group, drawn: Sequence[Sequence[Outputs]], n_draws: int) -> list[Figures]:
    """Return for each subject the figures of its texts, all texts of a group in the same batches.

    Args:
        drawn: [n_subjects][n_sentences] outputs.

    Returns:
        For each subject, float lists [n_sentences]: means over draws for `DRAWN`; for `INFERRED`
        sums over places and draws, with their count `n_inferred`.
    """
    released = [
        _release(group, (subject, sentence), outputs, k)
        for subject, sentences in enumerate(drawn)
        for sentence, outputs in enumerate(sentences)
        for k in range(n_draws)
    ]
    shape = (len(drawn), len(group.sentences))
    means, inferred = np.zeros((*shape, len(DRAWN))), np.zeros((*shape, len(INFERRED) + 1))
    for one, values in zip(released, _of_whole(group, released), strict=True):
        means[one.subject, one.sentence] += values / n_draws
    for number, found in _inferred(group, released):
        inferred[released[number].subject, released[number].sentence] += found
    names, values = (*DRAWN, *INFERRED, "n_inferred"), np.concatenate([means, inferred], axis=2)
    return [{name: row[:, i].tolist() for i, name in enumerate(names)} for row in values]


def _release(group: Group, at: tuple[int, int], outputs: Outputs, k: int) -> _Released:
    choices, pieces = Choices(group.masked(group.sentences[at[1]][0])), group.tools.pieces
    for word, chosen in enumerate(outputs):
        choices.release(word, pieces.token(chosen[k]), chosen[k])
    return _Released(*at, choices, choices.finish()[0])


def _of_whole(group: Group, released: Sequence[_Released]) -> Floats:
    """Return `DRAWN` of each text, float64 [n_released, 3]."""
    assert group.tools.encoder is not None
    assert group.tools.sentiment is not None
    vectors = group.tools.encoder.encode([r.text for r in released])
    sentences = [r.sentence for r in released]
    labels = np.array([group.sentences[i][1] for i in sentences])
    rouge = [rouge_l(group.sentences[r.sentence][0], r.text) for r in released]
    cosines = (vectors * group.clean[sentences]).sum(axis=1)
    right = group.tools.sentiment.predict(vectors) == labels
    return np.stack([rouge, cosines, right], axis=1).astype(np.float64)


def _inferred(group: Group, released: Sequence[_Released]) -> list[tuple[int, Floats]]:
    """Return (number of the text, `INFERRED` and 1) for every attacked place; equal rows go through
    the model once.
    """
    mask, longest = group.tools.pieces.mask, group.tools.model.max_length
    rows: dict[tuple[bytes, int], Row] = {}
    users: dict[tuple[bytes, int], list[tuple[int, int]]] = {}
    for number, one in enumerate(released):
        ids, slots = one.choices.ids, one.choices.masked.slots
        places = group.attacked(one.sentence)
        for row in centred_rows(number, ids, slots, slots + 1, places, mask, longest):
            key = (row.ids.tobytes(), int(row.at[0]))
            rows.setdefault(key, row)
            users.setdefault(key, []).append((number, int(row.words[0])))
    by_row = {(row.text, int(row.words[0])): users[key] for key, row in rows.items()}
    return [
        (number, _at(group, released[number].choices, word, row))
        for batch, scores in group.tools.scored(list(rows.values()))
        for unit, row in zip(batch.units, scores, strict=True)
        for number, word in by_row[unit]
    ]


def _at(group: Group, choices: Choices, word: int, scores: Logits) -> Floats:
    """Return `INFERRED` and 1 at one place; scores float32 [n_tokens]."""
    highest, masked, tools = scores.max(), choices.masked, group.tools
    total = np.log(np.exp(scores - highest).sum()) + highest
    place = rank(tools.vocabulary, scores[tools.model.output_ids], masked.words[word].text)
    nll = total - scores[choices.ids[masked.slots[word]]]
    return np.array([nll, place < 1, place < 10, 1], dtype=np.float64)


def rank(vocabulary: Vocabulary, scores: Logits, word: str) -> int:
    """Return how many distinct words of Y are preferred to this one; beyond the tenth, how many
    outputs (no fewer).
    """
    own = vocabulary.find(word)
    if own < 0:
        return len(vocabulary.words)
    above = int((scores > scores[vocabulary.fold == own].max()).sum())
    return above if above > FEW else vocabulary.rank(scores, word)


def rouge_l(original: str, released: str) -> float:
    """Return Rouge-L F1 of two texts, by their longest common subsequence of words, without case.

    Source: Lin, "ROUGE: A Package for Automatic Evaluation of Summaries" (2004).

    >>> rouge_l("We met in Leeds", "we met in Paris")
    0.75
    """
    first, second = (
        [text[a:b].lower() for a, b in word_spans(text)] for text in (original, released)
    )
    if not first or not second:
        return float(first == second)
    row = [0] * (len(second) + 1)
    for word in first:
        left = diagonal = 0
        for j, other in enumerate(second, 1):
            above = row[j]
            left = diagonal + 1 if word == other else max(left, above)
            row[j], diagonal = left, above
    return 2 * row[-1] / (len(first) + len(second))
