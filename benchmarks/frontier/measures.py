"""What mechanisms do to held-out sentences: meaning, readability, task accuracy, and three attacks.

Per private word, without drawing, from exact distributions: `cosine` of the word vectors of word
and output (0 where one has none), `kept` (the word itself is released), `knn_1` and `knn_10` (the
word is among the 1 or 10 words of Y nearest to the output), `plausibility` (log-probability of the
output in the original context), `mapping` (how many different outputs 1,000 draws are expected to
give), and, at some places, `map` (the best guess of an attacker who knows the mechanism, its
settings and the context, with the masked LM's prior over 101 candidates). Cape that reads from left
to right has these in the contexts of its own draws (benchmarks/frontier/left_context.py).
Per fresh draw of a sentence: see benchmarks/frontier/released.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.baselines.base import Floats, Places
from benchmarks.frontier.groups import Group, Logits, Place
from benchmarks.frontier.left_context import Left, put
from benchmarks.frontier.mechanisms import OverLists, OverNoise, Subject, draws
from benchmarks.frontier.outputs import Tokens
from benchmarks.frontier.released import Outputs, of_texts
from sanitizer.pipeline import Choices
from sanitizer.risk import guessed

EXACT = ("cosine", "kept", "knn_1", "knn_10", "plausibility")
MAPPED = 1_000  # draws of a word, for `mapping`
N_NOISY = 20  # draws that stand for the distribution of a mechanism that has no table
DRAWN_ONLY = (OverNoise, OverLists)
Figures = dict[str, list[float]]


def measure(group: Group, subjects: Sequence[Subject], n_draws: int) -> list[Figures]:
    """For each subject, per sentence, float lists [n_sentences]: sums over words for `EXACT` and
    `map`, and for what is inferred from the released texts, with the counts `n_words`, `n_guessed`
    and `n_inferred`; means over draws for the other figures of the texts.
    """
    sums: list[Figures] = [{} for _ in subjects]
    drawn: list[list[Outputs]] = [[] for _ in subjects]
    left = [number for number, subject in enumerate(subjects) if isinstance(subject, Left)]
    others = [number for number in range(len(subjects)) if number not in left]
    for sentence, places in enumerate(group.places):
        whole = of_words(
            group.tools.tokens, [subjects[number] for number in others], places, n_draws
        )
        walked = of_left(group, [s for s in subjects if isinstance(s, Left)], sentence, n_draws)
        for number, (found, outputs) in zip([*others, *left], [*whole, *walked], strict=True):
            drawn[number].append(outputs)
            for name, value in found.items():
                sums[number].setdefault(name, []).append(value)
    return [a | b for a, b in zip(sums, of_texts(group, drawn, n_draws), strict=True)]


def of_words(
    tokens: Tokens, subjects: Sequence[Subject], places: Sequence[Place], n_draws: int
) -> list[tuple[dict[str, float], Outputs]]:
    """For each subject the sums of the exact figures over one sentence's words, and `n_draws` token
    ids for each.

    The places are in the outer loop: what subjects share about a word is worked out once
    (benchmarks/frontier/mechanisms.py).
    """
    sums, outputs = [_nothing(len(places)) for _ in subjects], list[Outputs]([] for _ in subjects)
    for place in places:
        values = _values(tokens, place)
        for subject, found, chosen in zip(subjects, sums, outputs, strict=True):
            where, p, drawn = _distribution(subject, place, n_draws)
            chosen.append(drawn.tolist())
            for name, value in zip(EXACT, values[:, where] @ p, strict=True):
                found[name] += float(value)
            found["mapping"] += _mapping(p, isinstance(subject, DRAWN_ONLY))
            if place.prior is not None and not isinstance(subject, OverLists):
                found["n_guessed"] += 1
                found["map"] += _best_guess(tokens, subject, place, where, p)
    return list(zip(sums, outputs, strict=True))


def of_left(
    group: Group, subjects: Sequence[Left], sentence: int, n_draws: int
) -> list[tuple[dict[str, float], Outputs]]:
    """As `of_words`, for subjects whose contexts are read as they draw: means over the draws'
    contexts.

    They go through a sentence side by side: those with the original context share what is worked
    out of a word.
    """
    text, places = group.sentences[sentence][0], group.places[sentence]
    sums, outputs = (
        [_nothing(len(places)) for _ in subjects],
        list[Outputs]([[] for _ in places] for _ in subjects),
    )
    for _ in range(n_draws):
        released = [Choices(group.masked(text)) for _ in subjects]
        walks = [
            subject.reader.words(choices)
            for subject, choices in zip(subjects, released, strict=True)
        ]
        for number, place in enumerate(places):
            values = {subject.words: _values(subject.words, place) for subject in subjects}
            for subject, choices, walk, found, chosen in zip(
                subjects, released, walks, sums, outputs, strict=True
            ):
                _, logits = next(walk)
                output = subject.output(
                    _step(subject, place, logits, values[subject.words], found, n_draws)
                )
                put(choices, number, output, group.tools.pieces)
                chosen[number].append(output)
    return list(zip(sums, outputs, strict=True))


def _step(
    subject: Left,
    place: Place,
    logits: Logits,
    values: Floats,
    found: dict[str, float],
    n_draws: int,
) -> int:
    """One place in one context: adds its share to the figures, and draws."""
    table = subject.table([place.word], logits)
    for name, value in zip(
        EXACT, values[:, subject.tokens[table.outputs]] @ table.p[0], strict=True
    ):
        found[name] += float(value) / n_draws
    found["mapping"] += _mapping(table.p[0], False) / n_draws
    if place.prior is not None:
        found["n_guessed"] += 1 / n_draws
        found["map"] += (
            float(guessed(place.prior, subject.table(place.prior.words, logits)).sum()) / n_draws
        )
    return int(draws(table, 1)[0])


def _nothing(n_words: int) -> dict[str, float]:
    """Sums of one sentence at the start."""
    return dict.fromkeys((*EXACT, "mapping", "map", "n_guessed"), 0.0) | {"n_words": float(n_words)}


def _values(tokens: Tokens, place: Place) -> NDArray[np.float64]:
    """What each token would count for, float64 [len(EXACT), n_tokens]. The masked LM knows no other
    model's tokens, so their plausibility is not a number.
    """
    shifted = place.original - place.original.max()
    logs = shifted - np.log(np.exp(shifted).sum())
    if len(logs) != len(tokens.texts):
        logs = np.full(len(tokens.texts), np.nan, dtype=np.float32)
    return np.stack([*tokens.compare(place.word), logs]).astype(np.float64)


def _distribution(subject: Subject, place: Place, n_draws: int) -> tuple[Places, Floats, Places]:
    """Tokens int [n] with their probabilities float64 [n], and `n_draws` drawn ones."""
    if isinstance(subject, DRAWN_ONLY):
        many = subject.tokens[subject.draw(place.word, n_draws + N_NOISY)]
        return many[n_draws:], np.full(N_NOISY, 1 / N_NOISY), many[:n_draws]
    table = subject.table([place.word], place.logits(subject.context))
    return subject.tokens[table.outputs], table.p[0], subject.tokens[draws(table, n_draws)]


def _mapping(p: Floats, drawn: bool) -> float:
    """Expected number of different outputs of `MAPPED` draws; not known from a few draws."""
    return (
        float("nan")
        if drawn
        else float(-np.expm1(MAPPED * np.log1p(-np.minimum(p, 1 - 1e-15))).sum())
    )


def _best_guess(tokens: Tokens, subject: Subject, place: Place, where: Places, p: Floats) -> float:
    assert place.prior is not None
    table = subject.table(place.prior.words, place.logits(subject.context))
    if not isinstance(subject, OverNoise):
        return float(guessed(place.prior, table).sum())
    best = (place.prior.mass[:, None] * table.p).argmax(axis=0) == place.prior.truth
    by_token = np.zeros(len(tokens.texts))
    by_token[subject.tokens[table.outputs]] = best
    return float(p @ by_token[where])
