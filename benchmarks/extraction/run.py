"""How much an extractor mends answers to perturbed prompts, measured as in the Cape paper's
open-ended generation.

    python -m benchmarks.extraction.run --peer PYTHON [--n 200] [--quick] [--stage
    remote|local|report]

PYTHON is the interpreter of an environment with `xllamacpp`. A small instruct model on this machine
stands for the remote model (benchmarks/extraction/upstream.py). For each beginning of a held-out
Wikipedia paragraph it is asked to go on, once with the beginning as it is and once for each epsilon
with all words but stopwords drawn anew (certified Cape, policy "strict"). Each noisy answer is then
put right by each extractor, and the packaged local model also writes an answer alone, from the
original beginning: what an extractor gains must be held against that. Every answer is kept in the
build cache as it comes, so a run can be taken up again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import sanitizer.answers
from benchmarks.common.machine import write
from benchmarks.common.sentences import SentenceEncoder
from benchmarks.extraction.figures import ALONE, KINDS, Answers, measured
from benchmarks.extraction.store import Key, Store, fingerprint
from benchmarks.extraction.texts import Item, items
from benchmarks.extraction.upstream import MAX_TOKENS, REQUEST, SHA256, SYSTEM, Upstream
from models.build.fetch import CACHE
from sanitizer.answers import Extractor, LmExtractor
from sanitizer.lm import (
    ByteTokens,
    ChatFormat,
    Manifest,
    MaskedLM,
    OnnxCausalLM,
    OnnxMaskedLM,
    model_folder,
)
from sanitizer.pipeline import Sanitizer
from sanitizer.privacy import Cape
from sanitizer.progress import progress_bar
from sanitizer.results import SanitizedText
from sanitizer.storage import MemoryVault
from sanitizer.testing import SeededSource

EPSILONS = (3.0, 4.0, 5.0, 6.0, 8.0)
POLICY = "strict"
SEED = 20_261
WORKERS = 3
"""The remote model answers one; meanwhile others are read here, or wait."""
NONE = "none"
LAST = ("lm", ALONE[-1])
"""What is written last for an item: with noise, and without."""
Answer = Callable[[str], str]
Job = Callable[[], None]


@dataclass(frozen=True)
class Condition:
    """All beginnings under one epsilon: what is sent for each, and the three ways to read an
    answer.
    """

    sent: list[SanitizedText]
    plain: Sanitizer
    lexical: Sanitizer
    lm: Sanitizer


class Local:
    """The models of this machine, and every beginning sanitized; slow to make."""

    def __init__(self, sample: list[Item]) -> None:
        self._model = OnnxCausalLM(threads=1)
        self._tokens = ByteTokens(self._model.folder / "tokenizer.json")
        extractor, masked = (
            LmExtractor(lambda: (self._model, self._tokens)),
            OnnxMaskedLM(threads=1),
        )
        self.conditions = {f"{e:g}": condition(e, sample, masked, extractor) for e in EPSILONS}

    def read(self, i: int, name: str, sent: str, answer: str) -> Iterator[tuple[str, str, bool]]:
        """(kind, text, whether it was extracted) of all that is written here for one item, the
        dearest last.

        Raises:
            RuntimeError: the mechanism draws other words now than those that were sent.
        """
        if name == NONE:
            yield from ((way, self._alone(way, sent), False) for way in ALONE)
            return
        c = self.conditions[name]
        if c.sent[i].text != sent:
            raise RuntimeError(
                "the draws changed since the answers were kept: remove them and start anew"
            )
        for kind, reader in (("noisy", c.plain), ("lexical", c.lexical), ("lm", c.lm)):
            found = reader.restore(answer, prompt=c.sent[i])
            yield kind, str(found), found.extracted

    def _alone(self, way: str, beginning: str) -> str:
        """What this model itself says comes next, its likeliest tokens.

        Args:
            way: "asked" as the remote model is, or "continued": the beginning is read as the
                model's own text.
        """
        form = ChatFormat(self._tokens)
        ids = form.prompt(beginning, SYSTEM) if way == "asked" else self._tokens.encode(beginning)
        rows = self._model.prefill([ids])
        written: list[int] = []
        while len(written) < MAX_TOKENS and (token := int(rows.logits[0].argmax())) not in form.end:
            written.append(token)
            rows.step([token])
        return self._tokens.decode(written).strip()


def condition(epsilon: float, sample: list[Item], masked: MaskedLM, lm: Extractor) -> Condition:
    """Sanitize everything at one epsilon, in order, with its own seeds: the same in every run."""
    vault, cape = MemoryVault(), Cape(epsilon)
    plain, lexical, model = (
        Sanitizer(cape, POLICY, model=masked, vault=vault, extractor=x)
        for x in (None, "lexical", lm)
    )
    seeds = (SEED + 1_000_003 * int(1000 * epsilon) + i for i in range(len(sample)))
    sent = [
        plain.sanitize(x.beginning, source=SeededSource(s))
        for x, s in zip(sample, seeds, strict=True)
    ]
    return Condition(sent, plain, lexical, model)


def sent_texts(
    sample: list[Item], store: Store, make: Callable[[], dict[str, Condition]]
) -> dict[str, list[str]]:
    """What the remote model is asked in each condition; drawn once, then kept."""
    keys = {f"{e:g}": [Key(i, f"{e:g}", "sent") for i in range(len(sample))] for e in EPSILONS}
    if not all(key in store for same in keys.values() for key in same):
        for name, c in make().items():
            for key, result in zip(keys[name], c.sent, strict=True):
                store.put(key, result.text)
    return {NONE: [x.beginning for x in sample]} | {
        n: [str(store.get(k)) for k in same] for n, same in keys.items()
    }


@dataclass(frozen=True)
class Work:
    """What there is to do for each item and condition: ask the remote model, then read its answer
    here.

    Attributes:
        sent: by condition. ask: the remote model; None: only what it answered before is read.
        here: the local side; None: answers are only collected.
    """

    sent: dict[str, list[str]]
    remote: Store
    local: Store
    ask: Answer | None
    here: Local | None

    def left(self) -> Iterator[Job]:
        """What was not done before, all conditions of one item after the other."""
        for i in range(len(self.sent[NONE])):
            for name in self.sent:
                known = Key(i, name, "answer") in self.remote
                unread = (
                    self.here is not None and Key(i, name, LAST[name == NONE]) not in self.local
                )
                if unread if known else self.ask is not None:
                    yield partial(self.do, i, name)

    def do(self, i: int, name: str) -> None:
        """One item in one condition."""
        text, key = self.sent[name][i], Key(i, name, "answer")
        if self.ask is not None and key not in self.remote:
            self.remote.put(key, self.ask(text))
        answer = self.remote.get(key)
        if self.here is None or answer is None:
            return
        for kind, found, extracted in self.here.read(i, name, text, answer):
            self.local.put(Key(i, name, kind), found, extracted)


def work_off(work: Work) -> None:
    """Do what is left, a few items side by side, with a bar."""
    jobs = list(work.left())
    print(f"{len(jobs)} left", flush=True)
    with progress_bar(len(jobs), True) as advance, ThreadPoolExecutor(WORKERS) as pool:
        for _ in pool.map(lambda job: job(), jobs):
            advance(1)


def stores(split: str) -> tuple[Store, Store]:
    """Of remote and of local answers: each is named after all that its answers depend on."""
    asked = [
        split,
        SHA256,
        REQUEST,
        SYSTEM,
        POLICY,
        SEED,
        EPSILONS,
        Manifest.read(model_folder("masked-lm")).sha256,
    ]
    # the whole package: which of its files decides what an extractor writes may change
    package = Path(str(sanitizer.answers.__file__)).parent
    code = [path.read_text("utf-8") for path in sorted(package.glob("*.py"))]
    here = [*asked, Manifest.read(model_folder("lm")).sha256, *code]
    names = f"remote-{split}-{fingerprint(asked)}.jsonl", f"local-{split}-{fingerprint(here)}.jsonl"
    remote, local = (Store(CACHE / "extraction" / name) for name in names)
    return remote, local


def answered(sample: list[Item], remote: Store, local: Store) -> Answers:
    """All texts of the items that every condition has answers for."""
    names = [f"{e:g}" for e in EPSILONS]
    keys = {"expected": (NONE, "answer")} | {way: (NONE, way) for way in ALONE}
    keys |= {f"{kind} {name}": (name, kind) for name in names for kind in ("sent", *KINDS)}
    stores = {
        label: remote if kind in ("answer", "sent") else local for label, (_, kind) in keys.items()
    }
    whole = [
        i
        for i in range(len(sample))
        if all(Key(i, *keys[label]) in stores[label] for label in keys)
    ]
    texts = {
        label: [str(stores[label].get(Key(i, *key))) for i in whole] for label, key in keys.items()
    }
    extracted = {
        label: [local.extracted(Key(i, *key)) for i in whole] for label, key in keys.items()
    }
    return Answers([sample[i] for i in whole], texts, extracted)


def run(sample: list[Item], split: str, stage: str, peer: Path | None) -> dict[str, Any] | None:
    """All stages, or one; the results, if it is the last."""
    remote, local = stores(split)
    make = cache(lambda: Local(sample))
    sent = sent_texts(sample, remote, lambda: make().conditions)
    with ExitStack() as stack:
        ask = None
        if stage in ("all", "remote") and any(
            Key(i, c, "answer") not in remote for i in range(len(sample)) for c in sent
        ):
            if peer is None:
                raise SystemExit(
                    "answers of the remote model are missing: --peer must name an environment "
                    "that has it"
                )
            ask = stack.enter_context(Upstream(peer)).answer
        if stage != "report":
            work_off(Work(sent, remote, local, ask, None if stage == "remote" else make()))
    if stage not in ("all", "report"):
        return None
    answers = answered(sample, remote, local)
    if not answers.items:
        raise SystemExit("no beginning has all its answers yet")
    results = measured(answers, [f"{e:g}" for e in EPSILONS], SentenceEncoder().encode)
    return {"texts_sha256": fingerprint(answers.texts, 64), **results}


def main() -> None:
    """Measure, print, write results/extraction.json."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--peer",
        type=Path,
        metavar="PYTHON",
        help="an environment with xllamacpp; for missing answers",
    )
    parser.add_argument("--n", type=int, default=200, help="beginnings")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="10 beginnings of the calibration split; writes nothing",
    )
    parser.add_argument("--stage", default="all", choices=("remote", "local", "report", "all"))
    options = parser.parse_args()
    n, split = (10, "calibration") if options.quick else (options.n, "heldout")
    results = run(items(split, n), split, options.stage, options.peer)
    if results is not None:
        print(json.dumps(results, indent=1))
        if not options.quick:
            print(
                write(
                    "extraction",
                    f"python -m benchmarks.extraction.run --n {n} --peer PYTHON",
                    results,
                )
            )


if __name__ == "__main__":
    main()
