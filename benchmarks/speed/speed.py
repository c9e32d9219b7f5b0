"""Where the time of certified Cape goes as prompts, batches and vocabularies grow, and beside
simpler tools.

    python -m benchmarks.speed.speed [--quick] [--presidio PYTHON] [--threads N]

Everything in turns in one run; medians with 95 % bootstrap intervals over rounds. SANTEXT's lookup
is its table of probabilities for the most frequent words, made ahead, and one draw per private
word. Presidio's analyzer looks for identifiers by patterns, without a named-entity model; it
perturbs no words, so it does less.
"""

from __future__ import annotations

import argparse
import json
import secrets
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.baselines.base import WordVectors
from benchmarks.baselines.santext import SanText
from benchmarks.common.machine import say, write
from benchmarks.common.texts import LONG, SHORT, of_length
from benchmarks.common.timing import in_turns, median, ratio
from benchmarks.frontier.left_context import fetched
from benchmarks.peers.identifiers import Worker
from sanitizer import Cape, Sanitizer
from sanitizer.lm import OnnxCausalLM, OnnxMaskedLM
from sanitizer.randomness import SYSTEM_RANDOM

N_TABLE = 2_000  # words in SANTEXT's table
PROMPTS = {"20 words": SHORT, "200 words": LONG}
SETUP = """
import time; begin = time.perf_counter()
import json, sys
from sanitizer import Cape, Sanitizer
Sanitizer(Cape(5.0, variant=sys.argv[1], backbone="causal"), "words").load()
seconds = time.perf_counter() - begin
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps([seconds, int(peak) / 1024]))
"""
Run = Callable[[], object]
Floats = NDArray[np.float32]


class Lookup:
    """SANTEXT over the packaged vectors for the most frequent words: cumulative probabilities,
    float32.
    """

    def __init__(self, model: OnnxMaskedLM, epsilon: float) -> None:
        begin = time.perf_counter()
        vectors, words = WordVectors(model.words), model.outputs[:N_TABLE]
        self.table = np.cumsum(
            SanText(epsilon).probabilities(vectors.inputs(words)), axis=1
        ).astype(np.float32)
        self._rows, self._outputs = {word.lower(): i for i, word in enumerate(words)}, model.outputs
        self.setup = time.perf_counter() - begin
        self._random = np.random.default_rng(secrets.randbits(128))

    def replace(self, words: list[str]) -> list[str]:
        """One draw for each word; a word outside the table is drawn as its first one."""
        rows = [self._rows.get(word.lower(), 0) for word in words]
        drawn = self._random.random(len(rows))
        return [
            self._outputs[min(int(np.searchsorted(self.table[r], x)), self.table.shape[1] - 1)]
            for r, x in zip(rows, drawn, strict=True)
        ]


def beside(
    model: OnnxMaskedLM, lookup: Lookup, presidio: Worker | None, n: int
) -> list[dict[str, Any]]:
    """Certified Cape, its identifiers alone, SANTEXT's lookup and Presidio on the same prompts."""
    ours, found = Sanitizer(model=model, policy="words"), []
    alone = Sanitizer(policy="identifiers", model=model)
    for name, text in PROMPTS.items():
        words = [w.text for w in ours.inner.mask(text).words]
        runs: dict[str, Run] = {
            "certified": partial(ours.sanitize, text, fresh=True),
            "identifiers": partial(alone.sanitize, text, fresh=True),
            "lookup": partial(lookup.replace, words),
        }
        times = in_turns(runs, n)
        row: dict[str, Any] = {
            "prompt": name,
            "n_units": len(words),
            "ms": {tool: median(t) for tool, t in times.items()},
        }
        row["ms_per_private_word"] = median(times["certified"], 1e3 / len(words))
        if presidio is not None:
            request = {"do": "time", "texts": [text], "shared": False}
            theirs = [
                float(presidio.ask(request)) for _ in range(n)
            ]  # each answer is the time of one warm call
            row["ms"]["presidio"] = median(theirs)
            row["presidio_over_identifiers"] = ratio(theirs, times["identifiers"])
        found.append(row)
    return found


def batches(model: OnnxMaskedLM, n: int, largest: int) -> list[dict[str, Any]]:
    """Milliseconds per prompt as more prompts go together."""
    ours, found = Sanitizer(model=model, policy="words"), []
    for size in (s for s in (1, 2, 4, 8, 16, 32) if s <= largest):
        texts = [SHORT] * size
        times = in_turns(
            {"batch": partial(ours.sanitize_batch, texts, fresh=True)}, max(3, n // size)
        )["batch"]
        found.append({"size": size, "ms_per_prompt": median(times, 1e3 / size)})
    return found


def drawn(cape: Cape, logits: Floats, distance: Floats) -> int:
    """One output: shortlist, weights, draw."""
    outputs = cape.outputs(logits)
    return cape.weights(logits[outputs], distance[outputs], np.array([0]), (-5.0, 5.0)).draw(
        SYSTEM_RANDOM
    )


def vocabularies(n: int) -> list[dict[str, Any]]:
    """Microseconds to weigh and draw one word's output, without the model, by number of outputs."""
    random, found = np.random.default_rng(0), []
    for size in (1_000, 3_000, 10_000, 30_000, 100_000):
        logits, distance = random.random((2, size), dtype=np.float32)
        runs = {
            v: partial(drawn, Cape(5.0, variant=v), logits, distance)
            for v in ("certified", "published")
        }
        times = in_turns(runs, n)
        found.append(
            {"n_outputs": size, **{variant: median(t, 1e6) for variant, t in times.items()}}
        )
    return found


def lengths(model: OnnxMaskedLM, n: int, longest: int) -> list[dict[str, Any]]:
    """Milliseconds per word of ever longer prompts."""
    ours, found = Sanitizer(model=model, policy="words"), []
    for n_words in (10, 30, 100, 300, 1_000, 3_000, 10_000):
        if n_words <= longest:
            run = {"whole": partial(ours.sanitize, of_length(n_words), fresh=True)}
            times = in_turns(run, max(3, min(n, 3_000 // n_words)))["whole"]
            found.append(
                {
                    "n_words": n_words,
                    "ms": median(times),
                    "ms_per_word": median(times, 1e3 / n_words),
                }
            )
    return found


def left(n: int, threads: int, prompts: dict[str, str]) -> dict[str, Any]:
    """Cape that reads with the causal model: milliseconds per prompt, and setup and memory of a new
    process.
    """
    causal, found = OnnxCausalLM(threads=threads), dict[str, Any]()
    for variant in ("certified", "published"):
        ours = Sanitizer(
            Cape(5.0, variant=variant, backbone="causal"),
            causal=causal,
            threads=threads,
            policy="words",
        )
        for name, text in prompts.items():
            times = in_turns({"ours": partial(ours.sanitize, text, fresh=True)}, n)["ours"]
            found[f"{variant}, {name}"] = median(times)
        run = subprocess.run(
            [sys.executable, "-c", SETUP, variant], capture_output=True, text=True, check=True
        )
        seconds, megabytes = json.loads(run.stdout)
        found[variant] = {"setup_s": seconds, "memory_mb": megabytes}
    return found


def main() -> None:
    """Measure, and write results/speed.json."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few rounds, no long prompts")
    parser.add_argument(
        "--presidio", metavar="PYTHON", help="an environment with presidio-analyzer"
    )
    parser.add_argument("--threads", type=int, default=2, help="of the masked LM")
    options = parser.parse_args()
    n, longest, largest = (3, 100, 4) if options.quick else (100, 10_000, 32)
    model = OnnxMaskedLM(threads=options.threads)
    lookup = Lookup(model, 5.0)
    presidio = Worker("presidio", options.presidio) if options.presidio else None
    results: dict[str, Any] = {
        "threads": options.threads,
        "presidio": presidio.versions if presidio else None,
        "beside": beside(model, lookup, presidio, n),
        "batches": batches(model, n, largest),
        "vocabularies": vocabularies(n),
        "lengths": lengths(model, n, longest),
    }
    size = {"n_words": N_TABLE, "setup_s": lookup.setup, "table_mb": lookup.table.nbytes / 1e6}
    results["lookup"] = size | {"ms": results["beside"][0]["ms"]["lookup"]}
    if fetched():
        rounds, prompts = (2, {"20 words": SHORT}) if options.quick else (6, PROMPTS)
        results["left"] = left(rounds, options.threads, prompts)
    if presidio is not None:
        presidio.close()
    say(str(results["beside"]))
    peer = " --presidio PYTHON" * bool(options.presidio)
    print(
        write(
            "speed", f"python -m benchmarks.speed.speed{' --quick' * options.quick}{peer}", results
        )
    )


if __name__ == "__main__":
    main()
