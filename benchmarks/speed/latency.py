"""Speed and memory of certified Cape as prompts and batches grow, against the bare forward pass,
beside Presidio, and in a new process.

    python -m benchmarks.speed.latency [--quick] [--presidio PYTHON]

Everything in one run on one machine, in turns; medians and ratios of medians with 95 % bootstrap
intervals over rounds. Presidio's analyzer looks for identifiers by patterns, without a named-entity
model, as the policy `identifiers` does. Writes results/latency.json and results/speed.json.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from functools import partial
from typing import Any

from benchmarks.common.machine import causal_fetched, parser, write
from benchmarks.common.processes import Worker, tool_of
from benchmarks.common.texts import LONG, SHORT, of_length
from benchmarks.common.timing import in_turns, median, ratio
from sanitizer import Cape, Sanitizer
from sanitizer.lm.causal import OnnxCausalLM
from sanitizer.lm.masked import MAX_THREADS, Batch, OnnxMaskedLM
from sanitizer.pipeline.engines import step_batches
from sanitizer.pipeline.masked_text import Choices

PROMPTS = {"20 words": SHORT, "200 words": LONG}
ONE_PROMPT = """
import time; begin = time.perf_counter()
import json, sys
from sanitizer import Sanitizer
Sanitizer().sanitize(sys.argv[1])
seconds = time.perf_counter() - begin
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps([seconds, int(peak) / 1024]))
"""
IMPORT = "import time; b = time.perf_counter(); import sanitizer; print(time.perf_counter() - b)"
Row = dict[str, Any]


def _with_intervals(figures: dict[str, dict[str, float]]) -> Row:
    """Return the figures by name, and their intervals beside them."""
    return {
        **{name: found["mean"] for name, found in figures.items()},
        "intervals": {name: [found["low"], found["high"]] for name, found in figures.items()},
    }


def per_prompt(threads: int, n: int, prompts: dict[str, str]) -> list[Row]:
    """Return ours and the bare pass of the same batch, for each prompt."""
    model = OnnxMaskedLM(threads=threads)
    ours, found = Sanitizer(model=model, policy="words"), []
    for name, text in prompts.items():
        inputs = list(step_batches(ours.inner.models(), [Choices(ours.inner.mask(text))]))

        def bare(some: list[Batch] = inputs) -> None:
            for batch in some:
                model.logits(batch.ids, batch.lengths, batch.at)

        times = in_turns({"ours": partial(ours.sanitize, text, fresh=True), "bare": bare}, n)
        figures = {
            "certified_ms": median(times["ours"]),
            "bare_pass_ms": median(times["bare"]),
            "ratio_to_bare_pass": ratio(times["ours"], times["bare"]),
        }
        n_units = ours.sanitize(text).record.n_units
        row = {"prompt": name, "threads": threads, "n_words": len(text.split())}
        found.append(row | {"n_units": n_units} | _with_intervals(figures))
    return found


def cold_start(n: int) -> Row:
    """Return what a new process takes: the whole command, from inside, its peak memory, and the
    import alone.
    """
    inside, memory, whole, imports = [], [], [], []
    for _ in range(n):
        seconds, megabytes = json.loads(_python("-c", ONE_PROMPT, SHORT))
        inside.append(seconds)
        memory.append(megabytes)
        begin = time.perf_counter()
        _python("-m", "sanitizer", "sanitize", SHORT)
        whole.append(time.perf_counter() - begin)
        imports.append(float(_python("-c", IMPORT)))
    figures = {
        "command_s": median(whole, 1),
        "inside_s": median(inside, 1),
        "peak_memory_mb": median(memory, 1),
        "import_ms": median(imports),
    }
    return _with_intervals(figures)


def _python(*arguments: str) -> str:
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def beside(model: OnnxMaskedLM, presidio: Worker | None, n: int) -> list[Row]:
    """Return certified Cape, our identifiers alone and Presidio on the same prompts."""
    ours, found = Sanitizer(model=model, policy="words"), []
    alone = Sanitizer(policy="identifiers", model=model)
    for name, text in PROMPTS.items():
        n_words = len(ours.inner.mask(text).words)
        runs = {
            "certified": partial(ours.sanitize, text, fresh=True),
            "identifiers": partial(alone.sanitize, text, fresh=True),
        }
        times = in_turns(runs, n)
        row: Row = {"prompt": name, "n_units": n_words}
        row["ms"] = {each: median(taken) for each, taken in times.items()}
        row["ms_per_private_word"] = median(times["certified"], 1e3 / n_words)
        if presidio is not None:
            request = {"do": "find", "texts": [text]}
            presidio.ask(request)  # warms
            theirs = [float(presidio.ask(request)["seconds"]) for _ in range(n)]
            row["ms"]["presidio"] = median(theirs)
            row["presidio_over_identifiers"] = ratio(theirs, times["identifiers"])
        found.append(row)
    return found


def grown(model: OnnxMaskedLM, n: int, largest: int, longest: int) -> Row:
    """Return milliseconds as more prompts go together, and as a prompt gets longer."""
    ours = Sanitizer(model=model, policy="words")
    batches, lengths = [], []
    for size in (s for s in (1, 2, 4, 8, 16, 32) if s <= largest):
        run = partial(ours.sanitize_batch, [SHORT] * size, fresh=True)
        times = in_turns({"batch": run}, max(3, n // size))["batch"]
        batches.append({"size": size, "ms_per_prompt": median(times, 1e3 / size)})
    for n_words in (w for w in (10, 30, 100, 300, 1_000, 3_000, 10_000) if w <= longest):
        whole = partial(ours.sanitize, of_length(n_words), fresh=True)
        times = in_turns({"whole": whole}, max(3, min(n, 3_000 // n_words)))["whole"]
        row: Row = {"n_words": n_words, "ms": median(times)}
        lengths.append(row | {"ms_per_word": median(times, 1e3 / n_words)})
    return {"batches": batches, "lengths": lengths}


def left(n: int, threads: int, prompts: dict[str, str]) -> Row:
    """Return milliseconds per prompt of Cape that reads with the causal model."""
    causal, found = OnnxCausalLM(threads=threads), dict[str, Any]()
    for variant in ("certified", "published"):
        cape = Cape(5.0, variant=variant, backbone="causal")
        ours = Sanitizer(cape, causal=causal, threads=threads, policy="words")
        for name, text in prompts.items():
            run = partial(ours.sanitize, text, fresh=True)
            found[f"{variant}, {name}"] = median(in_turns({"ours": run}, n)["ours"])
    return found


def main() -> None:
    """Measure, and write results/latency.json and results/speed.json."""
    line = parser(__doc__, "few rounds, no long prompts")
    line.add_argument("--presidio", metavar="PYTHON", help="an environment of presidio-analyzer")
    options = line.parse_args()
    quick, threads = options.quick, min(2, MAX_THREADS)
    n, longest, largest = (3, 100, 4) if quick else (100, 10_000, 32)
    prompts = {"20 words": SHORT} if quick else PROMPTS
    latency = {
        "per_prompt": [row for t in sorted({1, threads}) for row in per_prompt(t, n, prompts)],
        "cold_start": cold_start(2 if quick else 9),
    }
    write("latency", latency)
    model = OnnxMaskedLM(threads=threads)
    presidio = tool_of("presidio, patterns", options.presidio) if options.presidio else None
    speed: Row = {
        "threads": threads,
        "presidio": presidio.versions if presidio else None,
        "beside": beside(model, presidio, n),
        **grown(model, n, largest, longest),
    }
    if causal_fetched():
        speed["left"] = left(2 if quick else 6, threads, prompts)
    if presidio is not None:
        presidio.close()
    write("speed", speed)


if __name__ == "__main__":
    main()
