"""The draws of a group of texts: which scores each draw reads, and the outputs it makes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sanitizer.lm import Batch, Row, batches, centred_rows, rows
from sanitizer.pipeline.engines import LoadedModels, Logits
from sanitizer.pipeline.masked_text import Choices, MaskedText
from sanitizer.randomness import Source

MAX_BATCH_TOKENS = 1024
"""Tokens of one model input: larger inputs take more memory and no less time per token."""

Group = tuple[Sequence[tuple[int, int]], Logits | None]
"""(text, word) pairs, and the scores that their draws read, float32 [n, n_outputs]; None where no
context is read.
"""


def draw(texts: Sequence[MaskedText], models: LoadedModels, source: Source) -> list[Choices]:
    """Draw every private word of the texts and return one `Choices` for each text."""
    choices = [Choices(text) for text in texts]
    for units, logits in contexts(models, choices):
        choose(models, choices, units, logits, source)
    return choices


def contexts(
    models: LoadedModels, choices: Sequence[Choices], step: int | None = None
) -> Iterator[Group]:
    """Yield the words that are drawn, in order, with the scores that their draws read.

    The words of a group must be released before the next group is asked for: later scores may read
    them.

    Args:
        step: only the words of this step, counted from 0; default every step.
    """
    engine = models.engine
    for number in range(engine.n_steps) if step is None else (step,):
        if engine.left is not None:
            for text, each in enumerate(choices):
                for word, scores in engine.left.words(each):
                    yield ((text, word),), scores[None]
        elif engine.score is not None:
            for batch in step_batches(models, choices, number):
                yield batch.units, engine.score(batch)
        else:
            for text, each in enumerate(choices):
                yield tuple((text, word) for word in each.masked.drawn), None


def choose(
    models: LoadedModels,
    choices: Sequence[Choices],
    units: Sequence[tuple[int, int]],
    logits: Logits | None,
    source: Source,
) -> None:
    """Draw one group of `contexts`, and release its outputs into `choices`."""
    engine = models.engine
    private = [choices[text].masked.words[word].text for text, word in units]
    for (text, word), choice in zip(units, engine.choose(private, logits, source), strict=True):
        choices[text].release(
            word, engine.space.text(choice.output), engine.space.token(choice.output)
        )
        if choice.claimed is not None:
            choices[text].claims.append(choice.claimed)


def step_batches(
    models: LoadedModels, choices: Sequence[Choices], step: int = 0
) -> Iterator[Batch]:
    """Return the inputs of the masked model for the words of one step."""
    planned: list[Row] = []
    engine, longest = models.engine, models.model.max_length
    for text, each in enumerate(choices):
        due = np.array(each.masked.drawn[step :: engine.n_steps], dtype=np.intp)
        if engine.context == "released":
            ids = each.ids.copy()  # a release during this step must not reach its later batches
            planned += rows(text, ids, each.masked.slots, due, longest)
        else:
            planned += centred_rows(
                text, *each.masked.original_ids(), due, models.pieces.mask, longest
            )
    return batches(planned, (models.pieces.cls, models.pieces.sep), MAX_BATCH_TOKENS)
