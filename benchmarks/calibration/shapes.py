"""Shapes of certified Cape with two levels, and of profile "medoids", on public calibration text.

    python -m benchmarks.calibration.shapes [--sentences N] [--quick]

Per private word (policy "words") the exact output distribution is computed from its integers;
nothing is drawn. Means over the words:
  cosine        of the word vectors of word and output
  utility       L^0.5 * exp(-3 (1 - cosine)), L from the ORIGINAL context
  plausibility  log-probability (nats) of the output over Y in the original context
  kept          probability that the word itself is released
  guess         success of the best guess of an attacker who knows the mechanism and the released
                context, with the masked LM's prior over 101 candidates (every third word)
  top           probability of the likeliest output: how often two draws would agree, at most
  n_outputs     outputs of a position
The rule: of the shapes whose best guess succeeds no more often than that of the shape shipped
before, the one with the largest cosine, or, within CLOSE of it, the most plausible. Where a word
may be released as it is (demotion off), the limit is that of randomized response over the likeliest
100 at the same epsilon, if that is guessed more often: a word that is nearest to itself makes the
staircase the same mechanism, over a list that can be chosen. Beside the choice stands its gain over
the shape shipped before, with a paired 95 % bootstrap interval over sentences.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.intervals import interval, means
from benchmarks.common.machine import parser, say, write
from benchmarks.frontier.mechanisms import Packaged
from models.build.corpus import documents
from models.build.fetch import CACHE
from sanitizer.lm.masked import OnnxMaskedLM, batches, centred_rows, rows
from sanitizer.lm.tokens import WordPieces
from sanitizer.pipeline.outputs import WordSpace
from sanitizer.pipeline.sanitizer import Sanitizer
from sanitizer.privacy.cape import Cape
from sanitizer.risk.posterior import Likelihood, Prior, Vocabulary, guessed

BEFORE = {
    5.0: (100, 3),
    3.0: (25, 2),
    8.0: (1000, 3),
    2.0: (10, 2),
    1.0: (10, 2),
    4.0: (50, 3),
    6.0: (200, 3),
    10.0: (1000, 3),
}
"""Epsilon -> n_shortlist and n_top of the staircase as it was shipped, lambda_l 0.5."""
SHORTLISTS = {
    1.0: (4, 7, 10),
    2.0: (5, 7, 10),
    3.0: (7, 10, 20),
    4.0: (10, 20, 30),
    5.0: (20, 30, 40, 60),
    6.0: (30, 40, 60, 80),
    8.0: (60, 100, 200, 400),
    10.0: (100, 200, 400, 800),
}
MOST = {1.0: 10, 2.0: 10, 3.0: 16, 4.0: 24, 5.0: 40, 6.0: 80, 8.0: 160, 10.0: 160}
PEER = {"profile": "staircase", "n_shortlist": 100, "n_top": 1, "lambda_l": 0.0}
"""Randomized response over a shortlist, where the word itself may be released."""
PRICES = ((1, 0.05), (1, 0.15), (1, 0.3), (1, 0.5), (2, 0.1), (2, 0.3))
"""`n_top` and `guess_price` of medoids."""
LARGE = 7.0  # from here on choosing takes long, and the first prices say enough
CLOSE = 0.003  # of the cosine; the intervals are wider
POOL = 100  # sentences from which those measured are taken, evenly spaced
CANDIDATES, EVERY = (50, 50), 3
NAMES = ("cosine", "utility", "plausibility", "kept", "guess", "top", "n_outputs")
SENTENCE = re.compile(r"[^.!?\n]{40,240}[.!?]")
Shape = dict[str, Any]
Floats = NDArray[np.float64]


def shapes(epsilon: float) -> list[Shape]:
    """Every shape tried at one epsilon; the first is the one shipped before."""
    n_shortlist, n_top = BEFORE[epsilon]
    stairs: list[Shape] = [{"n_shortlist": n_shortlist, "n_top": n_top, "lambda_l": 0.5}]
    stairs += [
        {"n_shortlist": m, "n_top": k, "lambda_l": 0.0} for m in SHORTLISTS[epsilon] for k in (1, 2)
    ]
    medoids: list[Shape] = [
        {"profile": "medoids", "n_shortlist": MOST[epsilon], "n_top": k, "guess_price": price}
        for k, price in (PRICES if epsilon < LARGE else PRICES[:3])
    ]
    tried = [shape | {"profile": "staircase"} for shape in stairs] + medoids
    of_both = [shape | {"demote_self": demoted} for demoted in (True, False) for shape in tried]
    peer = PEER | {"demote_self": False}
    return of_both if peer in of_both else [*of_both, peer]


@dataclass(frozen=True)
class Case:
    """One private word, its row among the vectors, and both contexts' raw logits float32
    [n_outputs].
    """

    word: str
    row: int
    released: NDArray[np.float32]
    original: NDArray[np.float32]


def sentences(n: int) -> list[str]:
    """Return the first fitting sentence of each of at most POOL calibration documents, n of them;
    finding them takes longest, so they are kept.
    """
    path = CACHE / f"calibration-sentences-{POOL}.json"
    if not path.exists():
        texts = documents("calibration")
        found = [m.group().strip() for text in texts if (m := SENTENCE.search(text, 1))]
        path.write_text(json.dumps(found[:: max(1, len(found) // POOL)][:POOL]), "utf-8")
    kept: list[str] = json.loads(path.read_text("utf-8"))
    return [kept[i] for i in np.linspace(0, len(kept) - 1, min(n, len(kept))).astype(int)]


def cases(texts: list[str], model: OnnxMaskedLM) -> list[Case]:
    """Return every private word with a vector, scored in its released context (all words hidden)
    and in its original one.
    """
    pieces, found = WordPieces(model.folder / "tokenizer.json"), []
    sanitizer = Sanitizer(model=model, policy="words")
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


class Bench:
    """What all shapes share: the words, and the words that an attacker weighs at some of them."""

    def __init__(self, model: OnnxMaskedLM, texts: Sequence[str]) -> None:
        self._model = model
        vocabulary = Vocabulary(model)
        each = [cases([text], model) for text in texts]
        self.cases = [case for some in each for case in some]
        self.sentence = [i for i, some in enumerate(each) for _ in some]
        self.priors = [
            vocabulary.prior(case.released, case.word, CANDIDATES) if i % EVERY == 0 else None
            for i, case in enumerate(self.cases)
        ]
        self._pieces = WordPieces(model.folder / "tokenizer.json")
        self._space = WordSpace(model, self._pieces)

    def figures(self, mechanism: Cape) -> Floats:
        """`NAMES` of each word, float64 [n_words, n]; `guess` is nan without a prior."""
        subject = Packaged(mechanism, self._model, self._pieces)
        return np.array(
            [self._of(c, p, subject) for c, p in zip(self.cases, self.priors, strict=True)]
        )

    def _of(self, case: Case, prior: Prior | None, subject: Packaged) -> list[float]:
        words = [case.word, *(prior.words if prior else ())]
        table = subject.table(words, case.released)
        outputs, p = table.outputs, table.p[0]
        distance = self._model.words.distance(case.row, outputs)
        own = np.isin(outputs, self._space.own(case.word))
        low, high = self._model.logit_range
        score = np.clip((case.original[outputs] - low) / (high - low), 0, 1)
        shifted = case.original - case.original.max()
        logs = shifted[outputs] - np.log(np.exp(shifted).sum())
        guess = float(guessed(prior, Likelihood(outputs, table.p[1:])).sum()) if prior else np.nan
        return [
            float(p @ (1 - distance)),
            float(p @ (np.sqrt(score) * np.exp(-3 * distance))),
            float(p @ logs),
            float(p[own].sum()),
            guess,
            float(p.max()),
            len(outputs),
        ]


def chosen(rows: list[Shape]) -> Shape:
    """Return the shape that the rule picks, of one epsilon and one treatment of the word itself."""
    peers = [row for row in rows if row.items() >= (PEER | {"demote_self": False}).items()]
    most_guessed = max(float(row["guess"]) for row in (rows[0], *peers))
    allowed = [row for row in rows if row["guess"] <= most_guessed]
    most = max(float(row["cosine"]) for row in allowed)
    close = [row for row in allowed if row["cosine"] >= most - CLOSE]
    return max(close, key=lambda row: float(row["plausibility"]))


def gain(ours: Floats, before: Floats, sentence: Sequence[int]) -> dict[str, dict[str, float]]:
    """Ours less the shape shipped before, of each figure, with its interval."""
    found = {}
    for name in ("cosine", "plausibility", "guess"):
        column = NAMES.index(name)
        there = ~np.isnan(ours[:, column])
        values = (ours - before)[there, column]
        found[name] = interval(means(values, np.asarray(sentence)[there].tolist()))
    return found


def main() -> None:
    """Measure all shapes, write results/shapes.json after each epsilon; print what the rule
    picks.
    """
    line = parser(__doc__, "2 sentences, epsilon 3")
    line.add_argument("--sentences", type=int, default=40)
    options = line.parse_args()
    n = 2 if options.quick else options.sentences
    bench = Bench(OnnxMaskedLM(threads=1), sentences(n))
    results: dict[str, Any] = {
        "n_sentences": len(set(bench.sentence)),
        "n_words": len(bench.cases),
        "n_guessed": sum(p is not None for p in bench.priors),
        "table": [],
        "chosen": [],
    }
    for epsilon in (3.0,) if options.quick else sorted(BEFORE):
        tried = shapes(epsilon)
        each = [bench.figures(Cape(epsilon, **shape)) for shape in tried]
        rows = [
            {"epsilon": epsilon}
            | shape
            | dict(zip(NAMES, np.nanmean(found, axis=0).round(4).tolist(), strict=True))
            for shape, found in zip(tried, each, strict=True)
        ]
        results["table"] += rows
        for demoted in (True, False):
            some = [row for row in rows if row["demote_self"] == demoted]
            best = chosen(some)
            compared = each[rows.index(best)], each[rows.index(some[0])]
            results["chosen"].append(best | {"gain": gain(*compared, bench.sentence)})
            say(json.dumps(results["chosen"][-1]))
        write("shapes", results)


if __name__ == "__main__":
    main()
