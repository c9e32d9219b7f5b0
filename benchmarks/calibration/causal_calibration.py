"""Constants of Cape's left context: where the causal model's logits lie, and what it reads before a
text.

    python -m benchmarks.calibration.causal_calibration

On public calibration sentences (those of benchmarks/calibration/calibrate.py), at every word of Y
that is one token after a space, from the ORIGINAL words to its left:
  range   1 % quantile of the logits over Y, and 99.9 % quantile of the best, as for the masked
  model nll     nats of the word itself over Y, for each way to begin
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.calibration.calibrate import sentences
from benchmarks.common.intervals import interval, means
from benchmarks.common.machine import write
from sanitizer.lm import ByteTokens, OnnxCausalLM, OnnxMaskedLM
from sanitizer.pipeline import HEAD, START, OneTokenOutputs

HEADS = {"document": (START, ""), "Text:": (START, HEAD), "user": ("<|im_start|>", "user\n")}


def scored(
    texts: list[str],
    begin: list[int],
    model: OnnxCausalLM,
    tokens: ByteTokens,
    columns: NDArray[np.intp],
) -> tuple[NDArray[np.float32], NDArray[np.intp], list[int]]:
    """Each word of Y in its original left context: logits over Y, float32 [n, n_outputs], its
    place, its text.
    """
    places = {int(token): place for place, token in enumerate(columns)}
    rows, own, of = [], [], []
    for number, text in enumerate(texts):
        ids = [*begin, *tokens.encode(" " + text)]
        at = [i for i in range(len(begin), len(ids)) if ids[i] in places]
        rows.append(model.scores(ids, [i - 1 for i in at])[:, columns])
        own += [places[ids[i]] for i in at]
        of += [number] * len(at)
    return np.concatenate(rows), np.array(own), of


def main() -> None:
    """Measure; print and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, default=100)
    options = parser.parse_args()
    model, texts = OnnxCausalLM(), sentences(options.sentences)
    tokens = ByteTokens(model.folder / "tokenizer.json")
    columns = OneTokenOutputs.of(OnnxMaskedLM(), tokens).columns
    found: dict[str, Any] = {
        "causal_sha256": model.sha256,
        "n_sentences": len(texts),
        "n_outputs": len(columns),
        "begins": {},
    }
    for name, (start, head) in HEADS.items():
        logits, own, of = scored(
            texts, [tokens.special(start), *tokens.encode(head)], model, tokens, columns
        )
        nll = (
            np.logaddexp.reduce(logits.astype(np.float64), axis=1)
            - logits[np.arange(len(own)), own]
        )
        low, high = np.quantile(logits[:, ::7], 0.01), np.quantile(logits.max(axis=1), 0.999)
        figures = {"n_words": len(own), "nll": interval(means(nll, of))}
        found["begins"][name] = figures | {
            "logit_range": [round(float(low), 3), round(float(high), 3)]
        }
        print(name, found["begins"][name])
    print(
        write(
            "causal_calibration",
            f"python -m benchmarks.calibration.causal_calibration --sentences {len(texts)}",
            found,
        )
    )


if __name__ == "__main__":
    main()
