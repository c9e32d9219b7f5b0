"""Shapes of certified Cape with two levels, and of profile "medoids", on public calibration text.

    python -m benchmarks.calibration.shapes [--sentences N]

Per private word (policy "words") the exact output distribution is computed from its integers;
nothing is drawn. Means over the words:
  cosine        of the word vectors of word and output
  utility       L^0.5 * exp(-3 (1 - cosine)), L from the ORIGINAL context
  plausibility  log-probability (nats) of the output over Y in the original context
  kept          probability that the word itself is released
  guess         success of the best guess of an attacker who knows the mechanism and the released
                context, with the masked LM's prior over 101 candidates (every fourth word)
  n_outputs     outputs of a position
The rule: of the shapes whose best guess succeeds no more often than that of the shape shipped
before, the one with the largest cosine.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np

from benchmarks.calibration.calibrate import Case, cases, sentences
from benchmarks.common.machine import say, write
from models.build.fetch import CACHE
from sanitizer.lm import OnnxMaskedLM, WordPieces
from sanitizer.pipeline import Engine, engine_for
from sanitizer.privacy import Cape
from sanitizer.risk import Likelihood, Nearest, Prior, Vocabulary, guessed

BEFORE = {
    1.0: (10, 2),
    2.0: (10, 2),
    3.0: (25, 2),
    4.0: (50, 3),
    5.0: (100, 3),
    6.0: (200, 3),
    8.0: (1000, 3),
    10.0: (1000, 3),
}
"""Epsilon -> n_shortlist and n_top of the staircase as it was shipped, lambda_l 0.5."""
SHORTLISTS = {
    1.0: (4, 7, 10),
    2.0: (5, 7, 10),
    3.0: (7, 10, 20),
    4.0: (10, 20, 30),
    5.0: (20, 30, 40),
    6.0: (30, 40, 60),
    8.0: (60, 100, 200),
    10.0: (100, 200, 400),
}
MOST = {1.0: 10, 2.0: 10, 3.0: 16, 4.0: 24, 5.0: 40, 6.0: 80, 8.0: 160, 10.0: 160}
PRICES = (0.05, 0.1, 0.15, 0.3, 0.5)
CANDIDATES, EVERY = (50, 50), 4
Shape = dict[str, Any]


def shapes(epsilon: float) -> list[Shape]:
    """Every shape tried at one epsilon; the first is the one shipped before."""
    n_shortlist, n_top = BEFORE[epsilon]
    before: Shape = {"n_shortlist": n_shortlist, "n_top": n_top, "lambda_l": 0.5}
    stairs: list[Shape] = [
        {"n_shortlist": m, "n_top": 1, "lambda_l": 0.0} for m in SHORTLISTS[epsilon]
    ]
    medoids: list[Shape] = [
        {"profile": "medoids", "n_shortlist": MOST[epsilon], "n_top": 1, "guess_price": price}
        for price in PRICES
    ]
    tried = [before, *stairs, *medoids]
    return [shape | {"demote_self": demoted} for demoted in (True, False) for shape in tried]


def texts(n: int) -> list[str]:
    """Calibration sentences; finding them takes longer than all else, so they are kept."""
    path = CACHE / f"calibration-sentences-{n}.json"
    if not path.exists():
        path.write_text(json.dumps(sentences(n)), "utf-8")
    found: list[str] = json.loads(path.read_text("utf-8"))
    return found


def figures(case: Case, prior: Prior | None, engine: Engine, model: OnnxMaskedLM) -> list[float]:
    """The six figures of one word, in the order of NAMES; `guess` is nan without a prior."""
    words = [case.word, *(prior.words if prior else ())]
    found = list(engine.distributions(words, case.released))
    outputs = found[0][0]
    rows = np.stack([weights.probabilities(len(outputs)) for _, weights in found])
    distance, p = model.words.distance(case.row, outputs), rows[0]
    low, high = model.logit_range
    score = np.clip((case.original[outputs] - low) / (high - low), 0, 1)
    shifted = case.original - case.original.max()
    logs = (shifted - np.log(np.exp(shifted).sum()))[outputs]
    guess = float(guessed(prior, Likelihood(outputs, rows[1:])).sum()) if prior else np.nan
    return [
        float(p @ (1 - distance)),
        float(p @ (np.sqrt(score) * np.exp(-3 * distance))),
        float(p @ logs),
        float(p[np.isin(outputs, engine.space.own(case.word))].sum()),
        guess,
        len(outputs),
    ]


NAMES = ("cosine", "utility", "plausibility", "kept", "guess", "n_outputs")


def chosen(rows: list[Shape]) -> Shape:
    """Return the shape that the rule picks, of one epsilon and one treatment of the word itself."""
    allowed = [row for row in rows if row["guess"] <= rows[0]["guess"]]
    return max(allowed, key=lambda row: float(row["cosine"]))


def main() -> None:
    """Measure all shapes; print what the rule picks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, default=60)
    options = parser.parse_args()
    model = OnnxMaskedLM(threads=1)
    pieces, nearest = WordPieces(model.folder / "tokenizer.json"), Nearest(model, Vocabulary(model))
    found = cases(texts(options.sentences), model)
    asked = [
        nearest.prior(case.released, case.word, CANDIDATES) if i % EVERY == 0 else None
        for i, case in enumerate(found)
    ]
    table: list[Shape] = []
    for epsilon in BEFORE:
        for shape in shapes(epsilon):
            engine = engine_for(Cape(epsilon, **shape), model, pieces)
            each = [figures(c, prior, engine, model) for c, prior in zip(found, asked, strict=True)]
            means = np.nanmean(np.array(each), axis=0).round(4).tolist()
            table.append(
                {"epsilon": epsilon, "profile": "staircase"}
                | shape
                | dict(zip(NAMES, means, strict=True))
            )
        for demoted in (True, False):
            rows = [r for r in table if (r["epsilon"], r["demote_self"]) == (epsilon, demoted)]
            say(str(chosen(rows)))
    command = f"python -m benchmarks.calibration.shapes --sentences {options.sentences}"
    counts = {"n_words": len(found), "n_guessed": sum(p is not None for p in asked)}
    print(write("shapes", command, counts | {"table": table}))


if __name__ == "__main__":
    main()
