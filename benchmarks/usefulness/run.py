"""How much is hidden of prompts that people might write, and how much of the task is left.

    python -m benchmarks.usefulness.run [--peer NAME=PYTHON]... [--pupa FILE] [--instructions FILE]
                                        [--set NAME]... [--preset NAME]... [--open] [--quick]
    python -m benchmarks.usefulness.run --write-floors

Our presets and other tools treat the same prompts in turns, prompt by prompt: 150 open ones, and
150 that were held out (`benchmarks/usefulness/prompts`); both halves are reported apart. What
counts as hidden is defined in `benchmarks/usefulness/measure.py`.

--peer names the interpreter of an environment with a tool. NAME: presidio, spacy (both with spaCy's
small English model) or datafog. A peer that is not named is left out, and the result says so.

--pupa: PUPA_New.csv of github.com/siyan-sylvia-li/PAPILLON (MIT), real prompts with private units;
they were redacted once before, so read the levels as indicative. --instructions:
user_oriented_instructions.jsonl of github.com/yizhongw/self-instruct (Apache-2.0), where nothing is
private. Both name real people: their texts are read, and only figures are kept.

--set names the prompts to measure, `open`, `held` or `dev`; it may be given more than once, default
is `open` and `held`. `dev` holds the 150 prompts that thresholds are chosen on. --preset, once or
more, leaves out the other presets. Where SANITIZER_BENCHMARK_RESULTS names a folder, results are
written there, and the published ones stay.

--open is `--set open`, for trials while something is built. --quick: 20 open prompts, or 20 of each
set that is named, and 20 of each file.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.common.machine import say, write
from benchmarks.common.texts import SHORT
from benchmarks.peers.identifiers import Worker
from benchmarks.usefulness import floors
from benchmarks.usefulness.measure import (
    Outcome,
    Treat,
    covering,
    of_public,
    of_pupa,
    public_words,
    summary,
)
from benchmarks.usefulness.presets import PRESETS, known
from benchmarks.usefulness.prompts import (
    FOLDER,
    FOREIGN,
    HALVES,
    OTHER_HANDS,
    SETS,
    Prompt,
    instructions,
    labelled,
    pupa,
)
from sanitizer.progress import progress_bar

PEERS = ("presidio", "spacy", "datafog")
NAMES_OF_SPACY = frozenset({"PERSON", "NORP", "FAC", "ORG", "GPE", "LOC", "PRODUCT"})
VARIANTS: dict[str, dict[str, Collection[str] | None]] = {
    "presidio": {"presidio": None},
    "spacy": {"spacy": None, "spacy, names only": NAMES_OF_SPACY},
    "datafog": {"datafog": None},
}
"""Peer -> name of a variant -> the types that it keeps; None: all."""
N_QUICK = 20


class Peer:
    """One peer as a tool: whatever it finds counts as replaced.

    Args:
        worker: the peer's process.
        kept: types of spans to keep; None keeps all.
    """

    def __init__(self, worker: Worker, kept: Collection[str] | None = None) -> None:
        self._worker = worker
        self._kept = kept

    def __call__(self, text: str) -> Outcome:
        """Return what the peer found in a text."""
        answer = self._worker.ask({"do": "find", "text": text})
        spans = [
            (start, end)
            for start, end, label, _ in answer["spans"]
            if self._kept is None or label in self._kept
        ]
        return Outcome(covering(spans), answer["seconds"])


def started(pythons: Mapping[str, str]) -> dict[str, Worker]:
    """Start the peers that are named; say which of them do not start."""
    workers = {}
    for name, python in pythons.items():
        try:
            workers[name] = Worker(name, python, "benchmarks.usefulness.tools")
        except (OSError, ValueError):  # no such interpreter, or it ended without an answer
            say(f"{name}: not run (its environment lacks a package or the model)")
    return workers


def treated(tools: Mapping[str, Treat], texts: Sequence[str]) -> dict[str, list[Outcome | None]]:
    """Let every tool treat every text, in turns."""
    found: dict[str, list[Outcome | None]] = {name: [] for name in tools}
    with progress_bar(len(texts), sys.stderr.isatty()) as advance:
        for text in texts:
            for name, tool in tools.items():
                found[name].append(tool(text))
            advance(1)
    return found


def on_prompts(tools: Mapping[str, Treat], prompts: Sequence[Prompt]) -> dict[str, Any]:
    """Return the figures of every tool on labelled prompts."""
    public = public_words()
    found = treated(tools, [prompt.text for prompt in prompts])
    return {
        "n_prompts": len(prompts),
        "n_spans": sum(len(prompt.spans) for prompt in prompts),
        "n_task_words": sum(len(prompt.tasks) for prompt in prompts),
        "tools": {name: summary(prompts, outcomes, public) for name, outcomes in found.items()},
    }


def on_pupa(tools: Mapping[str, Treat], path: Path, n: int | None) -> dict[str, Any]:
    """Return the figures of every tool on the first n prompts of PUPA."""
    prompts = pupa(path)[:n]
    found = treated(tools, [prompt.text for prompt in prompts])
    return {
        "sha256": sha256(path),
        "n_prompts": len(prompts),
        "n_units": sum(prompt.n_units for prompt in prompts),
        "n_units_not_in_their_prompt": sum(prompt.n_missing for prompt in prompts),
        "tools": {name: of_pupa(prompts, outcomes) for name, outcomes in found.items()},
    }


def on_instructions(tools: Mapping[str, Treat], path: Path, n: int | None) -> dict[str, Any]:
    """Return the figures of every tool on the first n instructions."""
    texts = instructions(path)[:n]
    found = treated(tools, texts)
    return {
        "sha256": sha256(path),
        "n_prompts": len(texts),
        "tools": {name: of_public(texts, outcomes) for name, outcomes in found.items()},
    }


def sha256(path: Path) -> str:
    """Return the hash of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def sets_of(options: argparse.Namespace) -> list[str]:
    """Return the names of the sets to measure, each once."""
    if options.set:
        return list(dict.fromkeys(options.set))
    return [HALVES[0]] if options.open or options.quick else [*HALVES, *OTHER_HANDS, FOREIGN]


def measured(options: argparse.Namespace, workers: Mapping[str, Worker]) -> dict[str, Any]:
    """Return all results."""
    presets = {name: known(name) for name in dict.fromkeys(options.preset or PRESETS)}
    tools: dict[str, Treat] = {name: tool for name, tool in presets.items() if tool is not None}
    for name, worker in workers.items():
        tools |= {label: Peer(worker, kept) for label, kept in VARIANTS[name].items()}
    for tool in tools.values():
        tool(SHORT)  # models are loaded at the first use
    n = N_QUICK if options.quick else None
    results: dict[str, Any] = {
        "versions": {name: worker.versions for name, worker in workers.items()},
        "not_run": sorted(set(PEERS) - set(workers)),
        "unknown_presets": [name for name, tool in presets.items() if tool is None],
        "n_public_words": len(public_words()),
        "sha256": {
            name: sha256(FOLDER / f"{name}.txt")
            for name in dict.fromkeys((*HALVES, *sets_of(options)))
        },
    }
    for name in sets_of(options):
        say(f"{name} prompts")
        results[name] = on_prompts(tools, labelled(name)[:n])
    if options.pupa:
        say("PUPA")
        results["pupa"] = on_pupa(tools, options.pupa, n)
    if options.instructions:
        say("instructions")
        results["instructions"] = on_instructions(tools, options.instructions, n)
    return results


def short(results: Mapping[str, Any]) -> str:
    """Return one line for each set and tool."""
    lines = []
    for half in SETS:
        for name, found in results.get(half, {"tools": {}})["tools"].items():
            shares = (
                found["spans"]["all"]["hidden"],
                found["task_words_kept"],
                found["other_words_changed"],
            )
            hidden, kept, changed = ("-" if x is None else f"{x['mean']:.3f}" for x in shares)
            lines.append(f"{half}, {name}: hidden {hidden}, kept {kept}, others changed {changed}")
    return "\n".join(lines)


def command(options: argparse.Namespace, workers: Collection[str]) -> str:
    """Return the command without paths of this machine."""
    parts = ["python -m benchmarks.usefulness.run", *(f"--peer {name}=PYTHON" for name in workers)]
    parts += [f"--{name} {value}" for name in ("set", "preset") for value in getattr(options, name)]
    parts += [f"--{name} FILE" for name in ("pupa", "instructions") if getattr(options, name)]
    parts += [f"--{name}" for name in ("open", "quick") if getattr(options, name)]
    return " ".join(parts)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    found = argparse.ArgumentParser(prog="python -m benchmarks.usefulness.run")
    found.add_argument("--peer", action="append", default=[], metavar="NAME=PYTHON")
    found.add_argument("--pupa", type=Path, metavar="FILE", help="PUPA_New.csv")
    found.add_argument(
        "--instructions", type=Path, metavar="FILE", help="user_oriented_instructions.jsonl"
    )
    found.add_argument(
        "--set", action="append", default=[], choices=SETS, help="default: all but dev"
    )
    found.add_argument(
        "--preset", action="append", default=[], choices=PRESETS, help="default: all"
    )
    found.add_argument("--open", action="store_true", help="without the held-out prompts")
    found.add_argument("--quick", action="store_true", help=f"{N_QUICK} prompts of a set")
    found.add_argument(
        "--write-floors", action="store_true", help="only measure and write floors.json"
    )
    return found


def main() -> int:
    """Measure, print, write results/usefulness.json; or write the floors."""
    line = parser()
    options = line.parse_args()
    if bad := [peer for peer in options.peer if peer.partition("=")[0] not in PEERS]:
        line.error(f"argument --peer: must be NAME=PYTHON of {', '.join(PEERS)}, got {bad[0]!r}")
    if options.set and options.open:
        line.error("argument --open: not allowed with argument --set")
    if options.write_floors:
        print(floors.write())
        print(json.dumps(floors.load(), indent=1))
        return 0
    workers = started(dict(peer.split("=", 1) for peer in options.peer))
    results = measured(options, workers)
    for worker in workers.values():
        worker.close()
    print(short(results))
    print(write("usefulness", command(options, workers), results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
