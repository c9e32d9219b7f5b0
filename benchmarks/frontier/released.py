"""Figures of released texts, all mechanisms' texts of a group in the same batches.

Per draw of a sentence: `rouge_l` and `sentence_cosine` to the original, `accuracy` of a sentiment
classifier trained on clean text. At some places, one masked pass for both: `nll` (nats of the
released word given the released rest: its mean's exponential is the pseudo-perplexity), and `mti_1`
and `mti_10` (the masked LM names the private word).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.baselines.base import Floats
from benchmarks.frontier.groups import Group, Logits
from benchmarks.frontier.left_context import put, spelled
from sanitizer.lm import Row, centred_rows
from sanitizer.pipeline import Choices
from sanitizer.risk import Vocabulary, rouge_l

DRAWN = ("rouge_l", "sentence_cosine", "accuracy")
INFERRED = ("nll", "mti_1", "mti_10")
Outputs = list[list[int | str]]
"""[n_places][n_draws] token ids, or texts that may be no token of the masked model: these have no
`nll`.
"""
FEW = 100  # outputs; no word has so many spellings that more of them could be fewer than ten words


@dataclass(frozen=True)
class _Released:
    """One draw of one sentence under one subject; `spelled`: outputs may be of several tokens."""

    subject: int
    sentence: int
    choices: Choices
    text: str
    spelled: bool


def of_texts(
    group: Group, drawn: Sequence[Sequence[Outputs]], n_draws: int
) -> list[dict[str, list[float]]]:
    """For each subject the figures of its texts.

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
    choices = Choices(group.masked(group.sentences[at[1]][0]))
    for i, chosen in enumerate(outputs):
        put(choices, i, chosen[k], group.tools.pieces)
    return _Released(
        *at, choices, choices.finish()[0], any(isinstance(chosen[k], str) for chosen in outputs)
    )


def _of_whole(group: Group, released: Sequence[_Released]) -> Floats:
    """`DRAWN` of each text, float64 [n_released, 3]."""
    assert group.tools.encoder is not None
    assert group.tools.sentiment is not None
    vectors, sentences = (
        group.tools.encoder.encode([r.text for r in released]),
        [r.sentence for r in released],
    )
    labels = np.array([group.sentences[i][1] for i in sentences])
    rouge = [rouge_l(group.sentences[r.sentence][0], r.text) for r in released]
    cosines = (vectors * group.clean[sentences]).sum(axis=1)
    return np.stack(
        [rouge, cosines, group.tools.sentiment.predict(vectors) == labels], axis=1
    ).astype(np.float64)


def _inferred(group: Group, released: Sequence[_Released]) -> list[tuple[int, Floats]]:
    """(number of the text, `INFERRED` and 1) for every attacked place; equal rows go through the
    model once.
    """
    mask, longest = group.tools.pieces.mask, group.tools.model.max_length
    rows: dict[tuple[bytes, int], Row] = {}
    users: dict[tuple[bytes, int], list[tuple[int, int]]] = {}
    for number, one in enumerate(released):
        choices, slots = one.choices, one.choices.masked.slots
        ids = (
            spelled(choices, group.tools.pieces) if one.spelled else (choices.ids, slots, slots + 1)
        )
        for row in centred_rows(number, *ids, group.attacked(one.sentence), mask, longest):
            key = (row.ids.tobytes(), int(row.at[0]))
            rows.setdefault(key, row)
            users.setdefault(key, []).append((number, int(row.words[0])))
    by_row = {(row.text, int(row.words[0])): users[key] for key, row in rows.items()}
    found = []
    for batch, scores in group.tools.scored(list(rows.values())):
        for unit, row in zip(batch.units, scores, strict=True):
            found += [
                (number, _at(group, released[number], word, row)) for number, word in by_row[unit]
            ]
    return found


def _at(group: Group, one: _Released, word: int, scores: Logits) -> Floats:
    """`INFERRED` and 1 at one place; scores float32 [n_tokens]."""
    highest, choices = scores.max(), one.choices
    masked = choices.masked
    nll = (
        np.nan
        if one.spelled
        else np.log(np.exp(scores - highest).sum())
        + highest
        - scores[choices.ids[masked.slots[word]]]
    )
    tools = group.tools
    place = rank(tools.vocabulary, scores[tools.model.output_ids], masked.words[word].text)
    return np.array([nll, place < 1, place < 10, 1], dtype=np.float64)


def rank(vocabulary: Vocabulary, scores: Logits, word: str) -> int:
    """How many distinct words of Y are preferred to this one; beyond the tenth, how many outputs
    (no fewer).
    """
    own = vocabulary.find(word)
    if own < 0:
        return len(vocabulary.words)
    above = int((scores > scores[vocabulary.fold == own].max()).sum())
    return above if above > FEW else vocabulary.rank(scores, word)
