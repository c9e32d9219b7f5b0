"""Speed and memory of certified Cape, against the bare forward pass and a plain published Cape.

Everything in one run on one machine, interleaved; medians and ratios of medians. Cold start and memory
are those of a new process that sanitizes one prompt.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.baselines.cape_reference import CapeReference
from benchmarks.machine import write
from benchmarks.texts import LONG, SHORT, of_length
from sanitizer import Cape, Sanitizer
from sanitizer.backbone import MAX_THREADS, OnnxMaskedLM
from sanitizer.windows import Batch

ONE_PROMPT = """
import time; begin = time.perf_counter()
import json, sys
from sanitizer import Sanitizer
Sanitizer().sanitize(sys.argv[1])
seconds = time.perf_counter() - begin
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps([seconds, int(peak) / 1024]))
"""


def interleaved(runs: dict[str, Callable[[], object]], n: int) -> dict[str, float]:
    """Median seconds of each, in turn n times; each timed call comes after an untimed one of the same."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(n):
        for name, run in runs.items():
            run()
            begin = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - begin)
    return {name: statistics.median(found) for name, found in times.items()}


def per_prompt(threads: int, n: int) -> list[dict[str, Any]]:
    """Ours, the bare pass, and the reference, for a short and a long prompt."""
    model = OnnxMaskedLM(threads=threads)
    ours, found = Sanitizer(model=model), []
    published = Sanitizer(Cape(10.0, variant="published"), model=model)
    reference = CapeReference(10.0, threads)
    for name, text in (("20 words", SHORT), ("200 words", LONG)):
        inputs = list(ours.batches([ours.draft(text)]))

        def bare(inputs: list[Batch] = inputs) -> None:
            for b in inputs:
                model.logits(b.ids, b.lengths, b.at)

        fast = interleaved({"ours": partial(ours.sanitize, text, fresh=True), "bare": bare}, n)
        slow = interleaved(
            {
                "ours": partial(ours.sanitize, text, fresh=True),
                "reference": partial(reference.sanitize, text),
                "published": partial(published.sanitize, text, fresh=True),
            },
            max(3, n // 25),
        )
        found.append(
            {
                "prompt": name,
                "threads": threads,
                "n_words": len(text.split()),
                "n_units": ours.sanitize(text).record.n_units,
                "certified_ms": 1e3 * fast["ours"],
                "bare_pass_ms": 1e3 * fast["bare"],
                "ratio_to_bare_pass": fast["ours"] / fast["bare"],
                "our_published_ms": 1e3 * slow["published"],
                "reference_ms": 1e3 * slow["reference"],
                "reference_over_certified": slow["reference"] / slow["ours"],
            }
        )
    return found


def scaling(n: int) -> list[dict[str, float]]:
    """Milliseconds per word from 10 to 10,000 words."""
    sanitizer, found = Sanitizer(), []
    for n_words in (10, 30, 100, 300, 1_000, 3_000, 10_000):
        text = of_length(n_words)
        seconds = interleaved(
            {"ours": partial(sanitizer.sanitize, text, fresh=True)}, max(3, min(n, 3_000 // n_words))
        )["ours"]
        found.append({"n_words": n_words, "ms": 1e3 * seconds, "ms_per_word": 1e3 * seconds / n_words})
    return found


def cold_start(n: int) -> dict[str, float]:
    """A new process: whole command, from inside, and its peak memory."""
    inside, memory, whole = [], [], []
    for _ in range(n):
        run = subprocess.run([sys.executable, "-c", ONE_PROMPT, SHORT], capture_output=True, text=True, check=True)
        seconds, megabytes = json.loads(run.stdout)
        inside.append(seconds)
        memory.append(megabytes)
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-m", "sanitizer", "sanitize", SHORT], capture_output=True, check=True)
        whole.append(time.perf_counter() - begin)
    return {
        "command_s": statistics.median(whole),
        "inside_s": statistics.median(inside),
        "peak_memory_mb": statistics.median(memory),
        "import_ms": 1e3 * statistics.median(import_times(n)),
    }


def import_times(n: int) -> list[float]:
    """Seconds for `import sanitizer` in new processes."""
    code = "import time; b = time.perf_counter(); import sanitizer; print(time.perf_counter() - b)"
    return [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout) for _ in range(n)
    ]


def main(quick: bool) -> None:
    """Measure, print, write results/latency.json."""
    n = 20 if quick else 100
    threads = sorted({1, min(2, MAX_THREADS)})
    results = {
        "per_prompt": [row for t in threads for row in per_prompt(t, n)],
        "scaling": scaling(n),
        "cold_start": cold_start(3 if quick else 9),
    }
    print(json.dumps(results, indent=1))
    print(write("latency", "python -m benchmarks latency" + " --quick" * quick, results))
