"""Every private word of a group of texts drawn, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sanitizer.lm import Batch, Row, batches, centred_rows, rows
from sanitizer.pipeline.engines import LoadedModels, Logits
from sanitizer.pipeline.masked_text import MaskedText
from sanitizer.randomness import Source

MAX_BATCH_TOKENS = 1024
Group = tuple[Sequence[tuple[int, int]], Logits | None]
"""(text, word) pairs, and the scores their draws read, float32 [n, n_outputs]; None where no
context is read.
"""


def step_batches(parts: LoadedModels, drafts: list[MaskedText], step: int = 0) -> Iterator[Batch]:
    """Model inputs for the words of one step, packed before the step's first release."""
    edges = (parts.pieces.cls, parts.pieces.sep)
    planned: list[Row] = []
    for number, draft in enumerate(drafts):
        due = np.array(draft.drawn[step :: parts.engine.n_steps], dtype=np.intp)
        if parts.engine.context == "released":
            planned += rows(number, draft.ids.copy(), draft.slots, due, parts.model.max_length)
        else:
            planned += centred_rows(
                number, *draft.original_ids(), due, parts.pieces.mask, parts.model.max_length
            )
    return batches(planned, edges, MAX_BATCH_TOKENS)


def contexts(parts: LoadedModels, drafts: list[MaskedText]) -> Iterator[Group]:
    """All drawn words in order. What was given must be released before more is asked for: later
    scores may read it.
    """
    for step in range(parts.engine.n_steps):
        yield from step_contexts(parts, drafts, step)


def step_contexts(parts: LoadedModels, drafts: list[MaskedText], step: int) -> Iterator[Group]:
    """As `contexts`, of one step."""
    left, score = parts.engine.left, parts.engine.score
    if left is not None:
        for number, draft in enumerate(drafts):
            for word, scores in left.words(draft):
                yield ((number, word),), scores[None]
    elif score is not None:
        for batch in step_batches(parts, drafts, step):
            yield batch.units, score(batch)
    else:
        for number, draft in enumerate(drafts):
            yield tuple((number, word) for word in draft.drawn), None


def draw_words(
    parts: LoadedModels, drafts: list[MaskedText], claims: list[list[float]], source: Source
) -> None:
    """Draw all words and put the outputs in place; what the published algorithm claims goes to
    `claims`.
    """
    for units, logits in contexts(parts, drafts):
        choose(parts, drafts, units, logits, claims, source)


def choose(
    parts: LoadedModels,
    drafts: list[MaskedText],
    units: Sequence[tuple[int, int]],
    logits: Logits | None,
    claims: list[list[float]],
    source: Source,
) -> None:
    """Draw the given (text, word) pairs, put the outputs in place, and append what is claimed for
    each to `claims`.
    """
    engine = parts.engine
    private = [drafts[text].words[word].text for text, word in units]
    for (text, word), choice in zip(units, engine.choose(private, logits, source), strict=True):
        drafts[text].release(
            word, engine.space.text(choice.output), engine.space.token(choice.output)
        )
        if choice.claimed is not None:
            claims[text].append(choice.claimed)
