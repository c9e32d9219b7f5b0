"""Speed and memory of certified Cape, against the bare forward pass and a plain published Cape.

Everything in one run on one machine, in turns; medians and ratios of medians with 95 % bootstrap
intervals over rounds. How time grows, and simpler tools: benchmarks/speed/speed.py. Cold start and
memory are those of a new process that sanitizes one prompt.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from functools import partial
from typing import Any

from benchmarks.baselines.cape_reference import CapeReference
from benchmarks.common.machine import write
from benchmarks.common.texts import LONG, SHORT
from benchmarks.common.timing import in_turns, median, ratio
from sanitizer import Cape, Sanitizer
from sanitizer.lm import MAX_THREADS, Batch, OnnxMaskedLM
from sanitizer.pipeline import Choices, step_batches

ONE_PROMPT = """
import time; begin = time.perf_counter()
import json, sys
from sanitizer import Sanitizer
Sanitizer().sanitize(sys.argv[1])
seconds = time.perf_counter() - begin
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps([seconds, int(peak) / 1024]))
"""


def per_prompt(threads: int, n: int, prompts: dict[str, str]) -> list[dict[str, Any]]:
    """Ours, the bare pass, and the reference, for a short and a long prompt."""
    model = OnnxMaskedLM(threads=threads)
    ours, found = Sanitizer(model=model, policy="words"), []
    published = Sanitizer(Cape(10.0, variant="published"), model=model, policy="words")
    reference = CapeReference(10.0, threads)
    for name, text in prompts.items():
        choices = Choices(ours.inner.mask(text))
        inputs = list(step_batches(ours.inner.models(), [choices]))

        def bare(inputs: list[Batch] = inputs) -> None:
            for b in inputs:
                model.logits(b.ids, b.lengths, b.at)

        fast = in_turns({"ours": partial(ours.sanitize, text, fresh=True), "bare": bare}, n)
        slow = in_turns(
            {
                "ours": partial(ours.sanitize, text, fresh=True),
                "reference": partial(reference.sanitize, text),
                "published": partial(published.sanitize, text, fresh=True),
            },
            n // 25 or 1,
            warm=False,  # these take seconds
        )
        figures = {
            "certified_ms": median(fast["ours"]),
            "bare_pass_ms": median(fast["bare"]),
            "ratio_to_bare_pass": ratio(fast["ours"], fast["bare"]),
            "our_published_ms": median(slow["published"]),
            "reference_ms": median(slow["reference"]),
            "reference_over_certified": ratio(slow["reference"], slow["ours"]),
        }
        found.append(
            {
                "prompt": name,
                "threads": threads,
                "n_words": len(text.split()),
                "n_units": ours.sanitize(text).record.n_units,
                **{key: value["mean"] for key, value in figures.items()},
                "intervals": {key: [value["low"], value["high"]] for key, value in figures.items()},
            }
        )
    return found


def cold_start(n: int) -> dict[str, Any]:
    """A new process: whole command, from inside, and its peak memory."""
    inside, memory, whole = [], [], []
    for _ in range(n):
        run = subprocess.run(
            [sys.executable, "-c", ONE_PROMPT, SHORT], capture_output=True, text=True, check=True
        )
        seconds, megabytes = json.loads(run.stdout)
        inside.append(seconds)
        memory.append(megabytes)
        begin = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "sanitizer", "sanitize", SHORT], capture_output=True, check=True
        )
        whole.append(time.perf_counter() - begin)
    figures = {
        "command_s": median(whole, 1),
        "inside_s": median(inside, 1),
        "peak_memory_mb": median(memory, 1),
        "import_ms": median(import_times(n)),
    }
    return {
        **{name: found["mean"] for name, found in figures.items()},
        "intervals": {name: [found["low"], found["high"]] for name, found in figures.items()},
    }


def import_times(n: int) -> list[float]:
    """Seconds for `import sanitizer` in new processes."""
    code = "import time; b = time.perf_counter(); import sanitizer; print(time.perf_counter() - b)"
    return [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
        for _ in range(n)
    ]


def main(quick: bool) -> None:
    """Measure, print, write results/latency.json."""
    n, prompts = (
        (10, {"20 words": SHORT}) if quick else (100, {"20 words": SHORT, "200 words": LONG})
    )
    threads = sorted({1, min(2, MAX_THREADS)})
    results = {
        "per_prompt": [row for t in threads for row in per_prompt(t, n, prompts)],
        "cold_start": cold_start(2 if quick else 9),
    }
    print(json.dumps(results, indent=1))
    print(write("latency", "python -m benchmarks latency" + " --quick" * quick, results))


if __name__ == "__main__":
    main("--quick" in sys.argv[1:])
