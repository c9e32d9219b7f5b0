"""Choose Cape's defaults: expected utility on public calibration text, for each epsilon and shape.

    python -m benchmarks.calibration.calibrate

For every private word (policy "balanced") of calibration documents the exact output distribution is
computed from its integers; nothing is drawn. Reported per setting, as means over the words:
  utility       L^0.5 * exp(-3 (1 - cosine)), L from the ORIGINAL context: the objective
  cosine        of the word vectors of word and output
  plausibility  log-probability (nats) of the output over Y in the original context
  kept          probability that the word itself is released
"""

from __future__ import annotations

import argparse
import itertools
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.machine import write
from models.build.corpus import documents
from sanitizer.lm import OnnxMaskedLM, WordPieces, batches, centred_rows, rows
from sanitizer.pipeline import Sanitizer, WordSpace
from sanitizer.privacy import Cape

EPSILONS = (2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
SHORTLISTS = (10, 15, 25, 50, 100, 200, 300, 500, 1000)
TOPS = (1, 2, 3, 5, 10)
MASSES = (0.001, 0.003, 0.01, 0.03, 0.1)
SENTENCE = re.compile(r"[^.!?\n]{40,240}[.!?]")


@dataclass(frozen=True)
class Case:
    """One private word: both contexts' raw logits float32 [n_outputs], and its row among the
    vectors.
    """

    word: str
    row: int
    released: NDArray[np.float32]
    original: NDArray[np.float32]


def sentences(n: int) -> list[str]:
    """Return the first fitting sentence of each of n calibration documents, of both collections
    alike.
    """
    found = [
        m.group().strip() for text in documents("calibration") if (m := SENTENCE.search(text, 1))
    ]
    return found[:: max(1, len(found) // n)][:n]


def cases(texts: list[str], model: OnnxMaskedLM) -> list[Case]:
    """Every private word with a vector, scored in its released (all words hidden) and original
    context.
    """
    pieces, sanitizer, found = (
        WordPieces(model.folder / "tokenizer.json"),
        Sanitizer(model=model, policy="words"),
        [],
    )
    edges = (pieces.cls, pieces.sep)
    for text in texts:
        masked = sanitizer.inner.mask(text)
        every = np.arange(len(masked.words))
        if not len(every):
            continue
        hidden = rows(0, masked.ids, masked.slots, every, model.max_length)
        seen = list(centred_rows(0, *masked.original_ids(), every, pieces.mask, model.max_length))
        released, original = (
            np.concatenate(
                [model.logits(b.ids, b.lengths, b.at) for b in batches(planned, edges, 2048)]
            )
            for planned in (hidden, seen)
        )
        for i, unit in enumerate(masked.words):
            if (row := model.words.row(unit.text)) >= 0:
                found.append(Case(unit.text, row, released[i], original[i]))
    return found


def expected(
    case: Case, mechanism: Cape, model: OnnxMaskedLM, own: NDArray[np.intp]
) -> list[float]:
    """[utility, cosine, plausibility, kept] of one word under one mechanism."""
    outputs = mechanism.outputs(case.released)
    distance = model.words.distance(case.row, outputs)
    mine = np.flatnonzero(np.isin(outputs, own))
    weights = mechanism.weights(case.released[outputs], distance, mine, model.logit_range)
    p = weights.probabilities(len(outputs))
    low, high = model.logit_range
    score = np.clip((case.original[outputs] - low) / (high - low), 0, 1)
    shifted = case.original - case.original.max()
    logp = (shifted - np.log(np.exp(shifted).sum()))[outputs]
    values = (np.sqrt(score) * np.exp(-3 * distance), 1 - distance, logp)
    return [*(float(p @ v) for v in values), float(p[mine].sum())]


def settings() -> list[dict[str, Any]]:
    """Every shape tried."""
    stairs = [
        {"n_shortlist": m, "n_top": k} for m, k in itertools.product(SHORTLISTS, TOPS) if k < m / 4
    ]
    geometric = [{"profile": "geometric", "n_shortlist": m, "n_top": 1} for m in SHORTLISTS]
    prior = [
        {"profile": "prior", "n_shortlist": m, "n_top": 1, "top_mass": q}
        for m in (1000, 4000)
        for q in MASSES
    ]
    return [*stairs, *geometric, *prior]


def main() -> None:
    """Measure all shapes at all epsilons; print the best of each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, default=150)
    options = parser.parse_args()
    model = OnnxMaskedLM()
    space = WordSpace(model, WordPieces(model.folder / "tokenizer.json"))
    found = cases(sentences(options.sentences), model)
    table = []
    for epsilon, shape in itertools.product(EPSILONS, settings()):
        mechanism = Cape(epsilon, **shape)
        figures = np.array([expected(c, mechanism, model, space.own(c.word)) for c in found])
        names = ("utility", "cosine", "plausibility", "kept")
        means = {n: round(float(v), 4) for n, v in zip(names, figures.mean(axis=0), strict=True)}
        table.append({"epsilon": epsilon, "profile": "staircase", **shape, **means})
    for epsilon in EPSILONS:
        ranked = sorted((r for r in table if r["epsilon"] == epsilon), key=lambda r: -r["utility"])
        for profile in ("staircase", "geometric", "prior"):
            print(next(r for r in ranked if r["profile"] == profile))
    command = f"python -m benchmarks.calibration.calibrate --sentences {options.sentences}"
    print(
        write(
            "calibration",
            command,
            {"n_words": len(found), "n_sentences": options.sentences, "table": table},
        )
    )


if __name__ == "__main__":
    main()
