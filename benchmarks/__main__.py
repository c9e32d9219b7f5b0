"""One entry to all benchmarks.

    python -m benchmarks all [--quick] [--peer NAME=PYTHON]...
    python -m benchmarks latency|privacy|utility|generation|peers|report [--quick]
    python -m benchmarks NAME [--quick]

latency: speed and memory. privacy: exact epsilons, and attacks. utility: the privacy-utility
frontier, and usefulness: what is hidden of labelled prompts and what of the task is left.
generation: extraction and synthesis. peers: other tools, each in an environment of its own, whose
interpreter `--peer` names (NAME: presidio, datafog, spacy, llm-shield-proxy, xllamacpp). --tab: the
folder of a set of texts for usefulness. report: tables from the results. NAME is a single
benchmark, by its name (`audits`) or its module (`privacy.audits`).

What is missing of this package's extras is told first; steps that need it are left out. Every step
is a process of its own. The long ones keep what they have measured and go on where they were
stopped. --quick takes minutes, and writes its results and its report into a temporary folder.

Not among them, since they measure what is packaged or choose constants, and change only with those:
benchmarks.calibration.shapes.

So that all of it ends within 2 hours 40 minutes on two cores, some steps measure less here than
when they are run by their own name (`python -m benchmarks.extraction.run --peer PYTHON` and so on):
`Step.size`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec

from benchmarks.common.machine import FOLDER, causal_fetched, say
from sanitizer.errors import to_install

Peers = Mapping[str, str]
EXTRAS: dict[str, tuple[str, Callable[[], bool]]] = {
    "bench": (to_install("bench"), lambda: find_spec("onnx") is not None),
    "bulk": (to_install("bulk"), lambda: find_spec("pyarrow") is not None),
    "proxy": (to_install("proxy"), lambda: find_spec("uvicorn") is not None),
    "lm": ("sanitizer models fetch lm", causal_fetched),
}
"""What a step may need -> how to get it, and whether it is there."""


@dataclass(frozen=True)
class Step:
    """One process.

    Attributes:
        name: what users call it. module: under `benchmarks`. minutes: about how long it takes on
            two idle cores, from nothing.
        needs: of EXTRAS. size: further arguments unless --quick. always: further arguments.
        peers: the option of each peer that is handed on, "{}" where its value goes.
        needs_peer: whether it is not run without any of them.
        apart: left out of `all --quick`.
    """

    name: str
    module: str
    minutes: int
    needs: tuple[str, ...] = ()
    size: tuple[str, ...] = ()
    always: tuple[str, ...] = ()
    peers: Mapping[str, str] | None = None
    needs_peer: bool = False
    apart: bool = False

    def arguments(self, peers: Peers, quick: bool) -> list[str] | None:
        """Return those of its command line; None where its peer is not given."""
        given = {name: form for name, form in (self.peers or {}).items() if name in peers}
        if self.needs_peer and not given:
            return None
        handed = (form.format(peers[name]).split() for name, form in given.items())
        own = [part for parts in handed for part in parts]
        return [*self.always, *own, *(["--quick"] if quick else self.size)]


_FINDERS = {name: f"--peer {name}={{}}" for name in ("presidio", "spacy", "datafog")}
STEPS: dict[str, list[Step]] = {
    "latency": [
        Step("latency", "speed.latency", 6, peers={"presidio": "--presidio {}"}),
        Step("bulk", "speed.bulk", 2, ("bulk",), ("--engines", "local", "--rows", "20000")),
    ],
    "privacy": [
        Step("audits", "privacy.audits", 25),
        Step("audits_causal", "privacy.audits", 30, ("lm",), always=("--causal",)),
        Step("classes", "privacy.classes", 1),
        Step("counterexamples", "privacy.counterexamples", 0),
        Step("reconstruction", "privacy.reconstruction", 2, size=("--sentences", "20")),
        Step("word_inference", "privacy.word_inference", 2),
        Step("conversations", "privacy.conversations", 6),
        Step("transcripts", "privacy.transcripts", 6, ("proxy",)),
        Step("fuzzing", "privacy.fuzzing", 3, size=("--bodies", "60000")),
    ],
    "utility": [
        Step("frontier", "frontier.run", 16, ("bench",), ("--sentences", "80")),
        Step("usefulness", "usefulness.run", 6, peers=_FINDERS | {"tab": "--tab {}"}),
        Step("needed", "usefulness.needed", 3),
        Step("tasks", "usefulness.checked", 4, peers=_FINDERS),
    ],
    "generation": [
        Step(
            "extraction",
            "extraction.run",
            17,
            ("bench", "lm"),
            ("--n", "40"),
            peers={"xllamacpp": "--peer {}"},
            needs_peer=True,
        ),
        Step("generation", "generation.run", 7, ("bench", "lm"), ("--texts", "8")),
        Step("membership", "generation.membership", 3, ("lm",), ("--repetitions", "4")),
    ],
    "peers": [
        Step(
            "identifiers",
            "peers.identifiers",
            1,
            peers={"presidio": "--presidio {}", "datafog": "--datafog {}"},
        ),
        Step(
            "proxy",
            "speed.proxy",
            3,
            ("proxy",),
            peers={"llm-shield-proxy": "--peer {}"},
            apart=True,
        ),
        Step("load", "speed.load", 5, ("proxy",), apart=True),
    ],
    "report": [Step("report", "report.run", 0)],
}
ALL = [step for steps in STEPS.values() for step in steps]
COMMANDS: dict[str, list[Step]] = {
    **{s.module: [other for other in ALL if other.module == s.module] for s in ALL},
    **{s.name: [s] for s in ALL},
    **STEPS,  # `latency` is the group, `speed.latency` its first step
    "all": ALL,
}


def missing(steps: Iterable[Step]) -> dict[str, list[str]]:
    """Return what is not there of EXTRAS -> the steps that need it."""
    needed = dict.fromkeys(extra for step in steps for extra in step.needs)
    absent = [extra for extra in needed if not EXTRAS[extra][1]()]
    return {extra: [step.name for step in steps if extra in step.needs] for extra in absent}


def run(step: Step, quick: bool, peers: Peers) -> bool:
    """Run one step; say what was not run and why. True unless it failed."""
    arguments = step.arguments(peers, quick)
    if arguments is None:
        say(f"== {step.name}: not run (its peer is not given)")
        return True
    say(f"== {step.name} {' '.join(arguments)}" + f" (about {step.minutes} min)" * (not quick))
    begin = time.perf_counter()
    command = [sys.executable, "-m", f"benchmarks.{step.module}", *arguments]
    done = subprocess.run(command, check=False).returncode == 0
    say(f"== {step.name}: {'done' if done else 'FAILED'} after {time.perf_counter() - begin:.0f} s")
    return done


def main() -> int:
    """Run the steps of one command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [step.name for step in ALL if step.name not in STEPS]
    parser.add_argument(
        "command",
        choices=COMMANDS,
        metavar="COMMAND",
        help=f"all, {', '.join(STEPS)}, or a NAME: {', '.join(names)}",
    )
    parser.add_argument(
        "--quick", action="store_true", help="little of everything, results into a temporary folder"
    )
    parser.add_argument(
        "--peer", action="append", default=[], metavar="NAME=PYTHON", help="see above"
    )
    parser.add_argument("--tab", metavar="FOLDER", help="the Text Anonymization Benchmark")
    options = parser.parse_args()
    if bad := [peer for peer in options.peer if "=" not in peer]:
        parser.error(f"argument --peer: must be NAME=PYTHON, got {bad[0]!r}")
    peers = dict(peer.split("=", 1) for peer in options.peer)
    peers |= {"tab": options.tab} if options.tab else {}
    if options.quick and FOLDER not in os.environ:
        os.environ[FOLDER] = tempfile.mkdtemp(prefix="benchmarks-")
        say(f"results go to {os.environ[FOLDER]}")
    steps = COMMANDS[options.command]
    if options.command == "all" and options.quick:
        steps = [step for step in steps if not step.apart]
    absent = missing(steps)
    for extra, names in absent.items():
        say(f"missing: {extra} ({EXTRAS[extra][0]}); left out: {', '.join(names)}")
    done = [
        run(step, options.quick, peers) for step in steps if not set(step.needs) & set(absent)
    ]  # all of them, even after a failure
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main())
