"""Every private word of a group of texts drawn, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sanitizer.draft import Draft
from sanitizer.loading import Parts
from sanitizer.sampling import Source
from sanitizer.windows import Batch, Row, batches, centred_rows, rows

MAX_BATCH_TOKENS = 1024


def step_batches(parts: Parts, drafts: list[Draft], step: int = 0) -> Iterator[Batch]:
    """Model inputs for the words of one step, packed before the step's first release."""
    edges = (parts.pieces.cls, parts.pieces.sep)
    planned: list[Row] = []
    for number, draft in enumerate(drafts):
        due = np.array(draft.drawn[step :: parts.engine.n_steps], dtype=np.intp)
        if parts.engine.context == "released":
            planned += rows(number, draft.ids.copy(), draft.slots, due, parts.model.max_length)
        else:
            planned += centred_rows(number, *draft.original_ids(), due, parts.pieces.mask, parts.model.max_length)
    return batches(planned, edges, MAX_BATCH_TOKENS)


def draw_words(parts: Parts, drafts: list[Draft], claims: list[list[float]], source: Source) -> None:
    """Draw all words and put the outputs in place; what the published algorithm claims goes to `claims`."""
    engine = parts.engine
    if not engine.reads_context:
        for number, draft in enumerate(drafts):
            _choose(parts, drafts, [(number, word) for word in draft.drawn], None, claims, source)
        return
    for step in range(engine.n_steps):
        for batch in step_batches(parts, drafts, step):
            _choose(parts, drafts, batch.units, engine.space.logits(batch), claims, source)


def _choose(
    parts: Parts,
    drafts: list[Draft],
    units: Sequence[tuple[int, int]],
    logits: NDArray[np.float32] | None,
    claims: list[list[float]],
    source: Source,
) -> None:
    """Draw the given (text, word) pairs and put the outputs in place."""
    engine = parts.engine
    private = [drafts[text].words[word].text for text, word in units]
    for (text, word), choice in zip(units, engine.choose(private, logits, source), strict=True):
        drafts[text].release(word, engine.space.text(choice.output), engine.space.token(choice.output))
        if choice.claimed is not None:
            claims[text].append(choice.claimed)
