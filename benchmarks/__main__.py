"""One entry to all benchmarks.

    python -m benchmarks all [--quick] [--peer NAME=PYTHON]...
    python -m benchmarks latency|privacy|utility|generation|peers|report [--quick]

latency: speed and memory. privacy: exact epsilons, and attacks. utility: the privacy-utility frontier, the papers'
tables, and ideas that were tried. generation: extraction and synthesis. peers: other tools, each in an environment of
its own, whose interpreter `--peer` names (NAME: presidio, datafog, llm-shield-proxy, xllamacpp, invink; the last
with the folder of its model: PYTHON,FOLDER). report: tables and plots from the results. Any single benchmark can be
named too. Every step is a process of its own and goes on where it was stopped; --quick takes minutes, and writes
its results and its report into a temporary folder.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec

from benchmarks.machine import FOLDER, say

Peers = Mapping[str, str]
Arguments = Callable[[Peers], list[str] | None]


def _always(*arguments: str) -> Arguments:
    return lambda peers: list(arguments)


def _with_peers(*names: str, option: str = "--{}") -> Arguments:
    """Of those that are given; not run without any."""

    def arguments(peers: Peers) -> list[str] | None:
        return [part for name in names if name in peers for part in (option.format(name), peers[name])] or None

    return arguments


def _optional(*names: str) -> Arguments:
    """Of those that are given; run without them too."""
    return lambda peers: _with_peers(*names)(peers) or []


def _proxy(peers: Peers) -> list[str] | None:
    return ["--peer", peers["llm-shield-proxy"]] if "llm-shield-proxy" in peers else []


def _invink(peers: Peers) -> list[str] | None:
    return ["peer", *peers["invink"].split(",", 1)] if "invink" in peers else None


@dataclass(frozen=True)
class Step:
    """One process.

    Attributes:
        module: under `benchmarks`. arguments: of its command line; None where its peer is not given.
        quick: whether it knows --quick. apart: left out of `all --quick` all the same.
    """

    module: str
    arguments: Arguments = field(default_factory=_always)
    quick: bool = True
    apart: bool = False


STEPS: dict[str, list[Step]] = {
    "latency": [Step("latency"), Step("speed", _optional("presidio"))],
    "privacy": [Step("audits"), Step("attacks")],
    "utility": [Step("frontier"), Step("papers"), Step("ideas")],
    "generation": [
        Step("extraction", _with_peers("xllamacpp", option="--peer"), quick=False),
        Step("generation", _invink, quick=False),
        *(Step("generation", _always(part), quick=False) for part in ("methods", "augpe", "cost", "memory", "write")),
        Step("membership", quick=False),
        Step("generation_answers", quick=False),
    ],
    "peers": [Step("identifiers", _with_peers("presidio", "datafog"), quick=False), Step("proxy", _proxy, apart=True)],
    "report": [Step("report")],
}
SINGLE = {step.module: [step] for steps in STEPS.values() for step in steps if len(steps) > 1}


def run(step: Step, quick: bool, peers: Peers) -> bool:
    """Run one step; say what was not run and why. True unless it failed."""
    name, arguments = f"benchmarks.{step.module}", step.arguments(peers)
    if arguments is None or find_spec(name) is None or (quick and not step.quick):
        say(f"== {step.module}: not run ({'not part of --quick' if quick else 'its peer is not given'})")
        return True
    arguments += ["--quick"] * quick
    say(f"== {step.module} {' '.join(arguments)}")
    begin = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", name, *arguments], check=False).returncode == 0
    say(f"== {step.module}: {'done' if done else 'FAILED'} after {time.perf_counter() - begin:.0f} s")
    return done


def main() -> int:
    """Run the steps of one command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["all", *STEPS, *(name for name in SINGLE if name not in STEPS)])
    parser.add_argument("--quick", action="store_true", help="little of everything, results into a temporary folder")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PYTHON", help="see above")
    options = parser.parse_args()
    if bad := [peer for peer in options.peer if "=" not in peer]:
        parser.error(f"argument --peer: must be NAME=PYTHON, got {bad[0]!r}")
    peers = dict(peer.split("=", 1) for peer in options.peer)
    if options.quick and FOLDER not in os.environ:
        os.environ[FOLDER] = tempfile.mkdtemp(prefix="benchmarks-")
        say(f"results go to {os.environ[FOLDER]}")
    chosen = [s for steps in STEPS.values() for s in steps] if options.command == "all" else None
    if chosen and options.quick:
        chosen = [step for step in chosen if not step.apart]
    steps = chosen or (SINGLE | STEPS)[options.command]
    done = [run(step, options.quick, peers) for step in steps]  # all of them, even after a failure
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main())
