"""One entry to all benchmarks.

    python -m benchmarks all [--quick] [--resume] [--peer NAME=PYTHON]...
    python -m benchmarks latency|privacy|utility|generation|peers|report [--quick]
    python -m benchmarks NAME [--quick]

latency: speed and memory. privacy: exact epsilons, and attacks. utility: the privacy-utility
frontier, the papers' tables, ideas that were tried, and usefulness: what is hidden of labelled
prompts and what of the task is left. generation: extraction and synthesis. peers: other tools, each
in an environment of its own, whose interpreter `--peer` names (NAME: presidio, datafog, spacy,
llm-shield-proxy, xllamacpp, invink; the last with the folder of its model: PYTHON,FOLDER). Sets of
texts for usefulness are named in the same way (pupa=FILE, instructions=FILE, tab=FOLDER; the last
also by --tab FOLDER). report: tables and plots from the results. NAME is a single benchmark, by its
name (`audits`) or its module (`privacy.audits`). Every step is a process of its own. The long ones
keep what they have measured and go on where they were stopped; with --resume, steps that ended at
this commit with these
arguments are not run again. --quick takes minutes, and writes its results and its report into a
temporary folder.

Not among them, since they measure what is packaged or choose constants, and change only with those:
benchmarks.calibration.* and benchmarks.speed.causal.

So that all of it ends within 2 hours 40 minutes on two cores, some steps measure less here than
when they are run by their own name (`python -m benchmarks.extraction.run --peer PYTHON` and so on):
`Step.size`. The frontier has 80 sentences instead of 250 (913 private words: intervals of the
words' cosine are 0.03 wide), the papers' tables 80 instead of 120, extraction 40 beginnings instead
of 200 (most of its time is two small models writing 700 answers), generation 8 texts a method,
membership 4 repetitions.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.common.machine import FOLDER, circumstances, output_folder, say
from models.build.fetch import CACHE

Peers = Mapping[str, str]
Arguments = Callable[[Peers], list[str] | None]


def _always(*arguments: str) -> Arguments:
    return lambda peers: list(arguments)


def _with_peers(*names: str, option: str = "--{}") -> Arguments:
    """Of those that are given; not run without any."""

    def arguments(peers: Peers) -> list[str] | None:
        return [
            part for name in names if name in peers for part in (option.format(name), peers[name])
        ] or None

    return arguments


def _optional(*names: str) -> Arguments:
    """Of those that are given; run without them too."""
    return lambda peers: _with_peers(*names)(peers) or []


def _proxy(peers: Peers) -> list[str] | None:
    return ["--peer", peers["llm-shield-proxy"]] if "llm-shield-proxy" in peers else []


def _usefulness(peers: Peers) -> list[str]:
    tools = [name for name in ("presidio", "spacy", "datafog") if name in peers]
    files = [name for name in ("pupa", "instructions", "tab") if name in peers]
    return [
        *(part for name in tools for part in ("--peer", f"{name}={peers[name]}")),
        *(part for name in files for part in (f"--{name}", peers[name])),
    ]


def _finders(peers: Peers) -> list[str]:
    tools = [name for name in ("presidio", "spacy", "datafog") if name in peers]
    return [part for name in tools for part in ("--peer", f"{name}={peers[name]}")]


def _invink(peers: Peers) -> list[str] | None:
    return ["peer", *peers["invink"].split(",", 1)] if "invink" in peers else None


@dataclass(frozen=True)
class Step:
    """One process.

    Attributes:
        name: what users call it. module: under `benchmarks`.
        arguments: of its command line; None where its peer is not given.
        quick: whether it knows --quick. apart: left out of `all --quick` all the same.
        size: further arguments unless --quick. minutes: about how long it then takes on two idle
            cores, from nothing.
    """

    name: str
    module: str
    arguments: Arguments = field(default_factory=_always)
    quick: bool = True
    apart: bool = False
    size: tuple[str, ...] = ()
    minutes: int = 1


GENERATED: tuple[tuple[str, Arguments, tuple[str, ...], int], ...] = (
    ("invink", _invink, ("--texts", "8"), 5),
    ("methods", _always("methods"), ("--texts", "8"), 10),
    ("augpe", _always("augpe"), ("--texts", "8"), 3),
    ("cost", _always("cost"), (), 1),
    ("memory", _always("memory"), (), 1),
    ("write", _always("write"), (), 1),
)
STEPS: dict[str, list[Step]] = {
    "latency": [
        Step("latency", "speed.latency", minutes=5),
        Step("speed", "speed.speed", _optional("presidio"), minutes=3),
        Step("bulk", "speed.bulk", size=("--engines", "local", "--rows", "20000"), minutes=2),
    ],
    "privacy": [
        Step("audits", "privacy.audits", minutes=6),
        Step("audits_causal", "privacy.audits_causal", minutes=8),
        Step("classes", "privacy.classes", minutes=1),
        Step("counterexamples", "privacy.counterexamples", quick=False, minutes=0),
        Step("attacks", "privacy.attacks", minutes=6),
        Step(
            "reconstruction",
            "privacy.reconstruction",
            size=("--sentences", "20", "--slow", "3"),
            minutes=2,
        ),
        Step("conversations", "privacy.conversations", minutes=6),
        Step("transcripts", "privacy.transcripts", minutes=6),
        Step("fuzzing", "privacy.fuzzing", size=("--bodies", "60000"), minutes=3),
    ],
    "utility": [
        Step("frontier", "frontier.run", size=("--sentences", "80"), minutes=16),
        Step("frontier_prompts", "usefulness.frontier", size=("--sentences", "20"), minutes=2),
        Step("papers", "papers.tables_of_papers", size=("--sentences", "80"), minutes=14),
        Step("ideas", "frontier.ideas", minutes=7),
        Step("words", "frontier.words", minutes=2),
        Step("usefulness", "usefulness.run", _usefulness, minutes=6),
        Step("tasks", "usefulness.checked", _finders, minutes=4),
        Step("limits", "usefulness.limits", minutes=3),
    ],
    "generation": [
        Step(
            "extraction",
            "extraction.run",
            _with_peers("xllamacpp", option="--peer"),
            quick=False,
            size=("--n", "40"),
            minutes=17,
        ),
        *(
            Step(f"generation_{part}", "generation.run", arguments, False, size=size, minutes=m)
            for part, arguments, size, m in GENERATED
        ),
        Step(
            "membership",
            "generation.membership",
            quick=False,
            size=("--repetitions", "4"),
            minutes=3,
        ),
        Step("answers", "generation.answers", quick=False, size=("--repetitions", "4")),
    ],
    "peers": [
        Step(
            "identifiers",
            "peers.identifiers",
            _with_peers("presidio", "datafog"),
            quick=False,
            minutes=1,
        ),
        Step("proxy", "speed.proxy", _proxy, apart=True, minutes=3),
        Step("load", "speed.load", apart=True, minutes=5),
    ],
    "report": [Step("report", "report.run")],
}
ALL = [step for steps in STEPS.values() for step in steps]
COMMANDS: dict[str, list[Step]] = {
    **{s.module: [other for other in ALL if other.module == s.module] for s in ALL},
    **{s.name: [s] for s in ALL},
    **STEPS,  # `latency` is the group, `speed.latency` its first step
    "all": ALL,
}


@dataclass(frozen=True)
class Mark:
    """That a step ended: a file in the build cache, named after commit, arguments and where its
    results are.
    """

    path: Path

    @classmethod
    def of(cls, module: str, arguments: list[str]) -> Mark:
        parts = repr((circumstances("")["commit"], module, arguments, str(output_folder())))
        return cls(CACHE / "ended" / hashlib.sha256(parts.encode()).hexdigest()[:20])

    def set(self) -> None:
        """From now on it has ended."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.touch()


def run(step: Step, quick: bool, peers: Peers, resume: bool = False) -> bool:
    """Run one step; say what was not run and why. True unless it failed."""
    name, arguments = f"benchmarks.{step.module}", step.arguments(peers)
    if arguments is None or (quick and not step.quick):
        say(
            f"== {step.name}: not run "
            f"({'not part of --quick' if quick else 'its peer is not given'})"
        )
        return True
    arguments += ["--quick"] if quick else list(step.size)
    mark = Mark.of(step.module, arguments)
    if resume and step.name != "report" and mark.path.exists():
        say(f"== {step.name}: not run (ended before, at this commit)")
        return True
    say(f"== {step.name} {' '.join(arguments)}" + f" (about {step.minutes} min)" * (not quick))
    begin = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", name, *arguments], check=False).returncode == 0
    say(f"== {step.name}: {'done' if done else 'FAILED'} after {time.perf_counter() - begin:.0f} s")
    if done:
        mark.set()
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
    parser.add_argument("--tab", metavar="FOLDER", help="as --peer tab=FOLDER")
    parser.add_argument(
        "--resume", action="store_true", help="leave out steps that ended before, see above"
    )
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
    done = [
        run(step, options.quick, peers, options.resume) for step in steps
    ]  # all of them, even after a failure
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main())
