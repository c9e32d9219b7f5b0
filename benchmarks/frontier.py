"""The privacy-utility frontier: every mechanism over its settings, on held-out Rotten Tomatoes sentences.

    python -m benchmarks.frontier [--quick] [--sentences N] [--draws R] [--only WORD]

Finished settings are kept in the build cache and not measured again; results/frontier.json holds means with 95 %
bootstrap intervals over sentences. The sentences, their order and the bootstrap have fixed seeds; the mechanisms draw
from the system's source.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import cache
from math import inf, isinf
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.claims import compare
from benchmarks.intervals import summary
from benchmarks.machine import RESULTS, write
from benchmarks.measures import Bench, cache_folder
from benchmarks.sentences import SentenceEncoder, Sentiment, cached_vectors, rotten_tomatoes
from benchmarks.subjects import Makers, Subject, exact_epsilon
from sanitizer import Sanitizer
from sanitizer.audit import domain
from sanitizer.backbone import OnnxMaskedLM
from sanitizer.text import WordPieces

TARGETS = (2.0, 3.0, 5.0, 8.0, 10.0)
NOMINAL = (1.0, 6.0, 10.0, 14.0)
N_TEST = 2_000  # the first of the fixed order; the classifier learns from the last and never sees these
N_TRAINING, N_TRAINING_QUICK = 4_000, 500
N_CONTEXTS, N_CONTEXTS_QUICK = 40, 6  # audited, where a mechanism reads the context
N_ROUNDS = 4  # of solving for an exact epsilon
VERSION = 3  # of what an entry means; raise it when the measures change


@dataclass(frozen=True)
class Setting:
    """One point of the frontier.

    Attributes:
        label: the curve it belongs to. mechanism: see `Makers.make`. epsilon: as set, or the exact one to solve for.
    """

    label: str
    mechanism: str
    epsilon: float
    options: dict[str, Any] = field(default_factory=dict)
    policy: str = "strict"
    solve: bool = False

    def key(self, *circumstances: int | str) -> str:
        """Name of the kept entry."""
        described = json.dumps([VERSION, asdict(self), *circumstances], sort_keys=True)
        return hashlib.sha256(described.encode()).hexdigest()[:20]


def settings(quick: bool) -> Iterator[Setting]:
    """All points; few for --quick."""
    targets = (3.0, 5.0, 8.0) if quick else TARGETS
    nominal = (10.0,) if quick else NOMINAL
    for e in targets:
        yield Setting("Cape certified", "cape certified", e)
    for e in nominal:
        yield Setting("Cape published", "cape published", e)
    for e in targets:
        yield Setting("DynText certified", "dyntext certified", e)
        yield Setting("SANTEXT", "santext", e, solve=True)
        yield Setting("exponential, all of Y", "exponential", e, solve=True)
        yield Setting("exponential, shortlist", "exponential", e, {"n_shortlist": 100}, solve=True)
        yield Setting("randomized response, all of Y", "randomized response", e)
        yield Setting("randomized response, shortlist", "randomized response", e, {"n_shortlist": 100})
    for e in nominal:
        yield Setting("DynText published", "dyntext published", e)
        yield Setting("CUSTEXT+", "custext+", e)
        yield Setting("RANTEXT", "rantext", e)
        yield Setting("SANTEXT+", "santext+", 4 * e)
    for e in (10.0,) if quick else (10.0, 200.0, 400.0, 800.0):
        yield Setting("FBDD", "fbdd", e / 2)
    if not quick:
        for e in TARGETS:
            yield Setting("Cape certified, balanced", "cape certified", e, policy="balanced")
            yield Setting("Cape certified, not demoted", "cape certified", e, {"demote_self": False})
            yield Setting("Cape certified, prior", "cape certified", e, {"profile": "prior"})


class Harness:
    """Loads what all settings share, when it is first asked for."""

    def __init__(
        self, n_sentences: int, n_draws: int, step: int, n_guessed: int, threads: int | None, quick: bool = False
    ) -> None:
        self.n_sentences, self.n_draws, self._step, self._n_guessed = n_sentences, n_draws, step, n_guessed
        self.model = OnnxMaskedLM(threads=threads)
        self._pieces = WordPieces(self.model.folder / "tokenizer.json")
        self._n_contexts = N_CONTEXTS_QUICK if quick else N_CONTEXTS
        self._makers = Makers(self.model, self._pieces)
        everything = rotten_tomatoes()
        self._test, self._training = everything[:N_TEST], everything[-(N_TRAINING_QUICK if quick else N_TRAINING) :]
        self._encoder = SentenceEncoder()
        vectors = cached_vectors(self._encoder, [t for t, _ in self._training], "rotten-tomatoes-training")
        self._sentiment = Sentiment(vectors, np.array([y for _, y in self._training]))
        self.bench, self.untested = cache(self._bench), cache(self._untested)
        self._audit_bench = cache(lambda: self._of(self._training[: 1 + self._n_contexts // 5], "strict"))
        shared = (n_sentences, n_draws, step, n_guessed, self.model.sha256)
        self.circumstances: tuple[int | str, ...] = (*shared, "quick") if quick else shared

    def _bench(self, policy: str) -> Bench:
        return self._of(self._test[: self.n_sentences], policy)

    def _untested(self, policy: str) -> Bench:
        """As many sentences that are never tested on."""
        return self._of(self._training[: self.n_sentences], policy)

    def _of(self, sentences: list[tuple[str, int]], policy: str) -> Bench:
        return Bench(self.model, self._pieces, self._encoder, self._sentiment, sentences, policy, self._n_guessed)

    def _audited(self, context: str) -> list[tuple[list[str], Any]]:
        """Inputs and scores of each audited context. The words that fit a context best are always among its inputs:
        one of them against a far one is the worst pair of every mechanism here."""
        words = domain(Sanitizer(model=self.model))
        if context == "none":
            return [([*self.model.outputs[:: self._step], *words[:: 25 * self._step]], None)]
        places = [p for place in self._audit_bench().places for p in place][: self._n_contexts]
        found = []
        for place in places:
            best = np.argsort(-place.released)[:200]
            fitting = [self.model.outputs[i] for i in best]
            found.append(
                ([*fitting, *self.model.outputs[:: 400 * self._step], *words[:: 4000 * self._step]], place.released)
            )
        return found

    def exact(self, mechanism: str, own: float, options: dict[str, Any]) -> tuple[float, str, int]:
        """(exact epsilon, how it is known, how many inputs were walked).

        "theorem": proved and met (results/audits.json); "all inputs" of one context, from the same file; "walked":
        over some inputs, so a lower bound; "bound": an upper bound.
        """
        if mechanism in ("cape certified", "dyntext certified", "randomized response"):
            return own, "theorem", 0
        if mechanism == "fbdd":
            return 2 * own, "bound", 0
        if mechanism == "cape published":
            rows = json.loads((RESULTS / "audits.json").read_text("utf-8"))["results"]
            row = next(r for r in rows if (r["mechanism"], r["nominal"]) == (mechanism, own))
            return float(row["exact"]), "all inputs", int(row["n_inputs"])
        if mechanism == "dyntext published":
            return inf, "theorem", 0
        subject = self._makers.make(mechanism, own, options)
        audited = self._audited(subject.context)
        exact = max(exact_epsilon(subject, words, logits) for words, logits in audited)
        return exact, "walked", sum(len(words) for words, _ in audited)

    def subject(self, setting: Setting) -> Subject:
        """The mechanism of a setting whose epsilon is its own."""
        return self._makers.make(setting.mechanism, setting.epsilon, setting.options)

    def solved(self, setting: Setting) -> float:
        """The mechanism's own epsilon at which the exact one is the setting's: it grows nearly in proportion."""
        own = setting.epsilon
        for _ in range(N_ROUNDS):
            own *= setting.epsilon / self.exact(setting.mechanism, own, setting.options)[0]
        return own

    def entry(self, setting: Setting) -> dict[str, Any]:
        """Measure one setting."""
        begin = time.perf_counter()
        own = self.solved(setting) if setting.solve else setting.epsilon
        subject = self._makers.make(setting.mechanism, own, setting.options)
        exact, kind, n_audited = self.exact(setting.mechanism, own, setting.options)
        figures = self.bench(setting.policy).measure(subject, self.n_draws)
        return {
            "setting": asdict(setting),
            "own_epsilon": own,
            "exact_epsilon": "inf" if isinf(exact) else exact,
            "exact_kind": kind,
            "n_audited": n_audited,
            "seconds": time.perf_counter() - begin,
            "per_sentence": figures,
        }


def place_of(harness: Harness, setting: Setting) -> Path:
    """Where an entry is kept."""
    return cache_folder() / f"{setting.key(*harness.circumstances)}.json"


def kept(harness: Harness, setting: Setting) -> dict[str, Any]:
    """An entry, from the build cache where it was measured before."""
    path = place_of(harness, setting)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part")
        unfinished.write_text(json.dumps(harness.entry(setting)), "utf-8")
        unfinished.rename(path)
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def progress(entry: dict[str, Any]) -> str:
    """One line about a finished setting."""
    shown = summary(entry["per_sentence"])
    figures = " ".join(f"{k}={shown[k]['mean']:.3f}" for k in ("cosine", "sentence_cosine", "knn_10", "mti_1", "map"))
    return f"{entry['setting']['label']} {entry['own_epsilon']:.2f} exact {entry['exact_epsilon']} {figures}"


def results(harness: Harness, entries: list[dict[str, Any]]) -> dict[str, Any]:
    """What results/frontier.json holds."""
    bench = harness.bench("strict")
    rows = [
        {k: v for k, v in e.items() if k != "per_sentence"} | {"figures": summary(e["per_sentence"])} for e in entries
    ]
    return {
        "n_sentences": len(bench.sentences),
        "n_draws": harness.n_draws,
        "n_words": sum(map(len, bench.places)),
        "clean_accuracy": summary({"accuracy": bench.clean_accuracy.tolist()})["accuracy"],
        "rows": rows,
        "claims": compare(entries),
    }


def main(options: argparse.Namespace) -> None:
    """Measure what is not measured yet, and write the results."""
    n = options.sentences or (8 if options.quick else 250)
    step, n_guessed = (10 if n < 100 else 1), (1 if options.quick else 2)
    harness = Harness(n, options.draws, step, n_guessed, options.threads, options.quick)
    chosen = [s for s in settings(options.quick) if options.only in s.label]
    if options.finished:
        chosen = [s for s in chosen if place_of(harness, s).exists()]
    entries = []
    for number, setting in enumerate(chosen, 1):
        entries.append(kept(harness, setting))
        print(f"[{number}/{len(chosen)}] {progress(entries[-1])}", flush=True)
    command = f"python -m benchmarks.frontier{' --quick' * options.quick} --sentences {n} --draws {options.draws}"
    if not options.only:
        print(write(options.output, command, results(harness, entries)))


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="8 sentences, fewer settings")
    parser.add_argument("--sentences", type=int)
    parser.add_argument("--draws", type=int, default=1, help="of each sentence")
    parser.add_argument("--only", default="", help="measure labels that contain this; write no results")
    parser.add_argument("--finished", action="store_true", help="write what is measured so far")
    parser.add_argument("--threads", type=int, help="of the masked LM")
    parser.add_argument("--output", default="frontier", help="name of the result file")
    return parser


if __name__ == "__main__":
    main(arguments().parse_args())
