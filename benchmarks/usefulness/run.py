"""How much is hidden of what people might write, and how much beside it is changed.

    python -m benchmarks usefulness [--peer NAME=PYTHON]... [--tab FOLDER]
    python -m benchmarks.usefulness.run [--peer NAME=PYTHON]... [--tab FOLDER] [--set NAME]...
        [--policy NAME]... [--open] [--untimed] [--quick]
    python -m benchmarks.usefulness.run --write-floors

Our policies and other tools treat the same texts in turns, text by text. By default these are the
sets that nobody read: four of prompts, the even half of the German, French and Spanish ones, and
those of `texts/`. --open takes those that may be read, --set the ones that are named.

--peer names the interpreter of an environment with a tool. NAME: presidio, spacy (both with spaCy's
small English model), presidio-medium (with the medium one), datafog or scrubadub. --tab: a folder
with `echr_test.json` of the Text Anonymization Benchmark. What is not given is left out, and the
result says which tools. --quick: 20 texts of each set, by default of the open ones.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.common.machine import parser, say, write
from benchmarks.common.processes import Worker, tool_of
from benchmarks.common.texts import SHORT
from benchmarks.usefulness import floors, prompts, tab
from benchmarks.usefulness.measure import Peer, Preset, Row, Tool, figures, measured
from sanitizer.lm.files import Manifest, model_folder
from sanitizer.risk.labelled import LabelledText

POLICIES = ("balanced", "deidentify", "identifiers")
NAMES_OF_SPACY = frozenset({"PERSON", "NORP", "FAC", "ORG", "GPE", "LOC", "PRODUCT"})
VARIANTS: dict[str, dict[str, Collection[str] | None]] = {
    "presidio": {"presidio": None},
    "spacy": {"spacy": None, "spacy, names only": NAMES_OF_SPACY},
    "presidio-medium": {"presidio, medium model": None},
    "datafog": {"datafog": None},
    "scrubadub": {"scrubadub": None},
}
"""Peer -> name of a variant -> the types that it keeps; None: all."""
PEERS = tuple(VARIANTS)
N_QUICK = 20
Rows = dict[str, list[Row]]


def started(pythons: Mapping[str, str]) -> dict[str, Worker]:
    """Start the peers that are named; say which of them do not start."""
    workers = {}
    for name, python in pythons.items():
        try:
            workers[name] = tool_of(name, python)
        except (OSError, ValueError):  # no such interpreter, or it ended without an answer
            say(f"{name}: not run (its environment lacks a package or the model)")
    return workers


def tools_of(policies: Sequence[str], workers: Mapping[str, Worker]) -> dict[str, Tool]:
    """Return the tools, their models loaded."""
    tools: dict[str, Tool] = {name: Preset(name) for name in dict.fromkeys(policies or POLICIES)}
    for name, worker in workers.items():
        tools |= {label: Peer(worker, kept) for label, kept in VARIANTS[name].items()}
    for tool in tools.values():
        tool(SHORT)
    return tools


def described(texts: Sequence[LabelledText], rows: Mapping[str, Sequence[Row]]) -> dict[str, Any]:
    """Return the figures of every tool on some texts."""
    return {
        "n_texts": len(texts),
        "n_spans": sum(len(text.spans) for text in texts),
        "n_task_words": sum(len(text.tasks) for text in texts),
        "tools": {name: figures(own) for name, own in rows.items()},
    }


def on_sets(tools: Mapping[str, Tool], names: Sequence[str], n: int | None) -> dict[str, Any]:
    """Return the figures of each set, of the held and of the open ones together, of each language
    but English, and of each origin of names that texts tell.
    """
    texts: dict[str, list[LabelledText]] = {}
    together: dict[str, defaultdict[str, list[tuple[str, int]]]] = {
        part: defaultdict(list) for part in ("groups", "languages", "origins")
    }
    rows: dict[str, Rows] = {}
    for name in names:
        texts[name] = prompts.labelled(name)[:n]
        say(f"{name}: {len(texts[name])} texts")
        rows[name] = measured(tools, texts[name])
        for group, sets in (("held sets", prompts.HELD), ("open sets", prompts.OPEN)):
            if name in sets:
                together["groups"][group] += [(name, i) for i in range(len(texts[name]))]
        for i, text in enumerate(texts[name]):
            if text.language != "en":
                together["languages"][text.language].append((name, i))
            if text.origin:
                together["origins"][text.origin].append((name, i))
    results: dict[str, Any] = {
        "sets": {name: described(texts[name], rows[name]) for name in names},
    }
    for part, wholes in together.items():
        results[part] = {
            whole: described(
                [texts[name][i] for name, i in places],
                {tool: [rows[name][tool][i] for name, i in places] for tool in tools},
            )
            for whole, places in sorted(wholes.items())
        }
    return results


def all_results(options: argparse.Namespace, workers: Mapping[str, Worker]) -> dict[str, Any]:
    """Measure everything that the options name."""
    tools = tools_of(options.policy, workers)
    n = N_QUICK if options.quick else None
    names = list(
        dict.fromkeys(
            options.set or (prompts.OPEN if options.open or options.quick else prompts.unread())
        )
    )
    results: dict[str, Any] = {
        "versions": {name: worker.versions for name, worker in workers.items()},
        "not_run": sorted(set(PEERS) - set(workers)),
        "reader_sha256": Manifest.read(model_folder("reader")).sha256,
        "sha256": {name: sha256(prompts.path_of(name)) for name in names},
        **on_sets(tools, names, n),
    }
    if options.tab:
        say("tab")
        results["tab"] = {
            "sha256": sha256(options.tab / tab.FILE),
            **tab.on_tab(tools, tab.judgments(options.tab)[:n]),
        }
    return results


def of_quality(found: dict[str, Any]) -> dict[str, Any]:
    """Return a part of the results without times, languages and origins."""
    return {key: each for key, each in found.items() if key not in ("ms", "languages", "origins")}


def sha256(path: Path) -> str:
    """Return the hash of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    found = parser(__doc__, f"{N_QUICK} texts of each set")
    names = (*prompts.OPEN, *prompts.unread())
    found.add_argument("--peer", action="append", default=[], metavar="NAME=PYTHON")
    found.add_argument("--tab", type=Path, metavar="FOLDER")
    found.add_argument("--set", action="append", default=[], choices=names, metavar="NAME")
    found.add_argument(
        "--policy", action="append", default=[], help=f"default: {', '.join(POLICIES)}"
    )
    found.add_argument("--open", action="store_true", help="the sets that may be read")
    found.add_argument("--untimed", action="store_true", help="only quality; writes peers.json")
    found.add_argument(
        "--write-floors", action="store_true", help="only measure and write floors.json"
    )
    return found


def main() -> int:
    """Measure, print, write results/usefulness.json; or write the floors."""
    line = arguments()
    options = line.parse_args()
    if bad := [peer for peer in options.peer if peer.partition("=")[0] not in PEERS]:
        line.error(f"argument --peer: must be NAME=PYTHON of {', '.join(PEERS)}, got {bad[0]!r}")
    if options.tab and not (options.tab / tab.FILE).exists():
        line.error(f"argument --tab: must be a folder with {tab.FILE}")
    if options.write_floors:
        print(floors.write())
        print(json.dumps(floors.load(), indent=1))
        return 0
    workers = started(dict(peer.split("=", 1) for peer in options.peer))
    results = all_results(options, workers)
    for worker in workers.values():
        worker.close()
    if options.untimed:
        results = json.loads(json.dumps(results), object_hook=of_quality)
    write("peers" if options.untimed else "usefulness", results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
