"""Settings times groups of sentences: measured in several processes, each cell kept, so that a run
can go on.

Groups are independent, so processes of one thread each are quicker than threads inside a model
pass.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common.processes import processes
from benchmarks.common.sentences import SentenceEncoder, Sentiment, cached_vectors, rotten_tomatoes
from benchmarks.frontier.groups import Group, Tools
from benchmarks.frontier.left_context import manifest
from benchmarks.frontier.measures import Figures, measure
from benchmarks.frontier.mechanisms import Makers
from benchmarks.frontier.settings import Setting
from models.build.fetch import CACHE
from sanitizer.lm import OnnxMaskedLM, WordPieces

N_TEST = (
    2_000  # the first of the fixed order; the classifier learns from the last and never sees these
)
VERSION = 5  # of what a cell means; raise it when the measures change


@dataclass(frozen=True)
class Circumstances:
    """What a cell's figures depend on besides its setting and its sentences.

    Attributes:
        n_draws: of each sentence. n_guessed, n_inferred: see `Group`.
        n_training: clean sentences that the classifier learns from. size: sentences in a group.
    """

    n_draws: int = 1
    n_guessed: int = 2
    n_inferred: int = 2
    n_training: int = 4_000
    size: int = 5

    def training(self) -> list[tuple[str, int]]:
        """Sentences that are never tested on."""
        return rotten_tomatoes()[-self.n_training :]

    def sentiment(self, encoder: SentenceEncoder) -> Sentiment:
        """The classifier; its training vectors are kept in the build cache."""
        training = self.training()
        vectors = cached_vectors(encoder, [t for t, _ in training], "rotten-tomatoes-training")
        return Sentiment(vectors, np.array([y for _, y in training]))


@dataclass(frozen=True)
class Job:
    """Settings, each with the mechanism's own epsilon, on one group of sentences and one policy."""

    policy: str
    number: int
    wanted: tuple[tuple[Setting, float], ...]


class Bench:
    """One process's models and subjects."""

    def __init__(self, circumstances: Circumstances) -> None:
        self.circumstances = circumstances
        model, encoder = OnnxMaskedLM(threads=1), SentenceEncoder(1)
        pieces = WordPieces(model.folder / "tokenizer.json")
        self.tools = Tools(model, pieces, encoder, circumstances.sentiment(encoder))
        self._makers, self._test = Makers(model, pieces), rotten_tomatoes()[:N_TEST]

    def run(self, job: Job) -> list[dict[str, Any]]:
        """A cell for each of the wanted settings."""
        size = self.circumstances.size
        sentences = self._test[job.number * size : (job.number + 1) * size]
        places = self.circumstances.n_guessed, self.circumstances.n_inferred
        group = Group(self.tools, sentences, job.policy, *places)
        subjects = [self._makers.kept(s.mechanism, own, s.options) for s, own in job.wanted]
        clean = group.clean_accuracy.tolist()
        figures = measure(group, subjects, self.circumstances.n_draws)
        return [{"figures": found, "clean_accuracy": clean} for found in figures]


_bench: Bench | None = None


def _start(circumstances: Circumstances) -> None:
    global _bench  # noqa: PLW0603 - one bench in each process of the pool
    _bench = Bench(circumstances)


def _run(job: Job) -> tuple[Job, list[dict[str, Any]]]:
    assert _bench is not None
    return job, _bench.run(job)


class Cells:
    """Kept cells of one model under one set of circumstances."""

    def __init__(self, circumstances: Circumstances, model_sha256: str) -> None:
        self.circumstances = circumstances
        self._key = (VERSION, *vars(circumstances).values(), model_sha256)

    def _path(self, setting: Setting, own: float, number: int) -> Path:
        causal = (manifest().sha256,) if setting.reads_left else ()
        return CACHE / "cells" / setting.key(*self._key, own, *causal) / f"{number}.json"

    def missing(self, wanted: Sequence[tuple[Setting, float]], n_groups: int) -> list[Job]:
        """Jobs for what is not kept yet."""
        policies = dict.fromkeys(setting.policy for setting, _ in wanted)
        jobs = [
            Job(
                policy,
                number,
                tuple(
                    (s, e)
                    for s, e in wanted
                    if s.policy == policy and not self._path(s, e, number).exists()
                ),
            )
            for number in range(n_groups)
            for policy in policies
        ]
        return [job for job in jobs if job.wanted]

    def measure(
        self,
        wanted: Sequence[tuple[Setting, float]],
        n_sentences: int,
        workers: int,
        say: Callable[[str], None],
    ) -> None:
        """Measure what is missing; `n_sentences` is rounded up to whole groups."""
        jobs = self.missing(wanted, -(-n_sentences // self.circumstances.size))
        if not jobs:
            return
        self.circumstances.sentiment(
            SentenceEncoder()
        )  # before the processes, which would all make its vectors
        with processes(workers, _start, (self.circumstances,)) as pool:
            self._collect([pool.submit(_run, job) for job in jobs], say)

    def _collect(self, futures: Sequence[Any], say: Callable[[str], None]) -> None:
        begin, n_cells = time.perf_counter(), 0
        for done, future in enumerate(as_completed(futures), 1):
            job, cells = future.result()
            self.keep(job, cells)
            n_cells += len(cells) * self.circumstances.size
            seconds = time.perf_counter() - begin
            say(
                f"[{done}/{len(futures)}] {n_cells} sentences x settings, "
                f"{n_cells / seconds:.1f} a second"
            )

    def keep(self, job: Job, cells: Sequence[dict[str, Any]]) -> None:
        """Write what a job found."""
        for (setting, own), cell in zip(job.wanted, cells, strict=True):
            path = self._path(setting, own, job.number)
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished = path.with_suffix(".part")
            unfinished.write_text(json.dumps(cell), "utf-8")
            unfinished.rename(path)

    def read(self, setting: Setting, own: float, n_sentences: int) -> tuple[Figures, list[float]]:
        """Figures per sentence, and whether each original is classified right, in the order of the
        sentences.
        """
        found: Figures = {}
        clean: list[float] = []
        for number in range(-(-n_sentences // self.circumstances.size)):
            cell = json.loads(self._path(setting, own, number).read_text("utf-8"))
            clean += cell["clean_accuracy"]
            for name, values in cell["figures"].items():
                found.setdefault(name, []).extend(values)
        return found, clean
