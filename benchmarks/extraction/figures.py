"""Coherence and alignment of answers, with paired bootstrap intervals.

As in the Cape paper (section 5.1.2), with x the original beginning, y the answer the remote model
gives to it, and y'
the text in question: coherence is the cosine of the sentence vectors of x and y', alignment that of
y and y'. `following` is, beside them, the cosine of y' and the words that follow in the article.
Sentence vectors are those of all-MiniLM-L6-v2 (the paper: SimCSE), so figures are comparable among
themselves only. `copied` is the share of the text's runs of three words that stand in the
beginning: to say it again is coherent, and no continuation. Whole documents are drawn again for the
intervals, since paragraphs of one page are alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.intervals import interval, means
from benchmarks.extraction.texts import Item

KINDS = ("noisy", "lexical", "lm")
ALONE = ("asked", "continued")
MEASURES = ("coherence", "alignment", "following")
RUN = 3
GAINS = (
    ("lexical", "noisy"),
    ("lm", "noisy"),
    ("lm", "lexical"),
    ("lm", "asked"),
    ("lm", "continued"),
)
Values = NDArray[np.float64]
Encode = Callable[[Sequence[str]], NDArray[np.float32]]


@dataclass(frozen=True)
class Answers:
    """What was written for each item.

    Attributes:
        texts: by name, one text for each item: "expected" (y), "asked" and "continued" (the local
            model without help), and for each condition "sent EPSILON", "noisy EPSILON", "lexical
            EPSILON", "lm EPSILON".
        extracted: by name, whether the extractor changed the answer.
    """

    items: list[Item]
    texts: dict[str, list[str]]
    extracted: dict[str, list[bool]]


def cosines(answers: Answers, encode: Encode) -> dict[str, dict[str, Values]]:
    """Name of the texts -> measure -> cosine of each item."""
    beginnings, following = (
        encode([getattr(x, n) for x in answers.items]) for n in ("beginning", "following")
    )
    vectors = {name: encode(texts) for name, texts in answers.texts.items()}
    others = dict(zip(MEASURES, (beginnings, vectors["expected"], following), strict=True))
    return {
        name: {
            m: np.einsum("ij,ij->i", found, other).astype(np.float64) for m, other in others.items()
        }
        for name, found in vectors.items()
    }


def copied(text: str, beginning: str) -> float:
    """Return the share of the text's runs of RUN words that occur in the beginning, in any case."""
    runs, known = (
        [tuple(words[i : i + RUN]) for i in range(len(words) - RUN + 1)]
        for words in (re.findall(r"\w+", t.casefold()) for t in (text, beginning))
    )
    return sum(run in known for run in runs) / max(1, len(runs))


def measured(answers: Answers, epsilons: Sequence[str], encode: Encode) -> dict[str, Any]:
    """The results file's content."""
    found, documents = cosines(answers, encode), [x.document for x in answers.items]

    def spread(values: Sequence[float] | Values) -> dict[str, float]:
        return interval(means(values, documents))

    def described(name: str) -> dict[str, Any]:
        words = [len(text.split()) for text in answers.texts[name]]
        again = [
            copied(t, x.beginning) for t, x in zip(answers.texts[name], answers.items, strict=True)
        ]
        return {m: spread(v) for m, v in found[name].items()} | {
            "copied": spread(again),
            "words": spread(words),
        }

    def row(epsilon: str) -> dict[str, Any]:
        names = {kind: f"{kind} {epsilon}" for kind in KINDS} | {way: way for way in ALONE}
        gains = {
            f"{a} - {b}": {m: spread(found[names[a]][m] - found[names[b]][m]) for m in MEASURES}
            for a, b in GAINS
        }
        shares = {kind: spread(answers.extracted[f"{kind} {epsilon}"]) for kind in KINDS[1:]}
        kept = spread(found[f"sent {epsilon}"]["coherence"])
        figures = {kind: described(names[kind]) for kind in KINDS}
        return {
            "epsilon": float(epsilon),
            "prompt_cosine": kept,
            **figures,
            "extracted": shares,
            "gains": gains,
        }

    return {
        "n_items": len(answers.items),
        "n_documents": len(set(documents)),
        "without_noise": described("expected"),
        **{way: described(way) for way in ALONE},
        "rows": [row(e) for e in epsilons],
    }
