"""The papers' tables at their nominal epsilons, on our data.

    python -m benchmarks.papers.tables_of_papers [--quick] [--sentences N]

The sentences, measures and kept cells are the frontier's (benchmarks/frontier/run.py), without the
best guess.
"""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks.baselines.base import Vectors, euclidean
from benchmarks.common.machine import write
from benchmarks.frontier.cells import Circumstances
from benchmarks.frontier.mechanisms import Makers
from benchmarks.frontier.run import measured, results
from benchmarks.papers import cape as papers_cape
from benchmarks.papers import dyntext as papers_dyntext
from benchmarks.privacy import word_inference
from sanitizer.lm import OnnxMaskedLM, WordPieces

N_SENTENCES, N_SENTENCES_QUICK = 120, 1
CIRCUMSTANCES = Circumstances(n_guessed=0, n_inferred=1)
QUICK = Circumstances(n_guessed=0, n_inferred=1, n_training=300, size=1)
CHUNK = 512


def longest(vectors: Vectors) -> float:
    """Largest Euclidean distance of two rows of length one."""
    least = min(
        float((vectors[i : i + CHUNK] @ vectors.T).min()) for i in range(0, len(vectors), CHUNK)
    )
    return float(euclidean(np.array([least], dtype=np.float32))[0])


def santext_scale() -> float:
    """See `papers_cape.settings`."""
    model = OnnxMaskedLM()
    vectors = Makers(model, WordPieces(model.folder / "tokenizer.json")).vectors
    return papers_cape.LONGEST_GLOVE / longest(vectors.outputs)


def main() -> None:
    """Measure what is not measured yet, and write results/papers.json."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few settings and sentences")
    parser.add_argument("--sentences", type=int)
    parser.add_argument("--workers", type=int, default=2, help="processes")
    options = parser.parse_args()
    n = options.sentences or (N_SENTENCES_QUICK if options.quick else N_SENTENCES)
    scale, circumstances = santext_scale(), QUICK if options.quick else CIRCUMSTANCES
    wanted = [*papers_cape.settings(scale), *papers_dyntext.settings(scale)]
    entries = measured(wanted, n, circumstances, options.workers, options.quick)
    command = (
        f"python -m benchmarks.papers.tables_of_papers{' --quick' * options.quick} --sentences {n}"
    )
    found = results(entries, circumstances) | {
        "santext_scale": scale,
        "word_inference": word_inference.measured(n),
    }
    print(write("papers", command, found))


if __name__ == "__main__":
    main()
