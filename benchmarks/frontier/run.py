"""The privacy-utility frontier: every mechanism over its settings, on held-out Rotten Tomatoes
sentences.

    python -m benchmarks.frontier.run [--quick] [--sentences N] [--draws R] [--workers N]

What is measured of a group of sentences is kept in the build cache and not measured again;
results/frontier.json holds means with 95 % bootstrap intervals over sentences. The sentences, their
order and the bootstrap have fixed seeds; the mechanisms draw from the system's source. Groups are
independent, so processes of one thread each are quicker than threads inside a model pass.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common.intervals import SEED, summary
from benchmarks.common.machine import parser, say, write
from benchmarks.common.processes import processes
from benchmarks.common.sentences import SentenceEncoder, Sentiment, cached_vectors, rotten_tomatoes
from benchmarks.frontier.claims import compare, lines
from benchmarks.frontier.exact import Audits, Exact
from benchmarks.frontier.groups import Group, Tools
from benchmarks.frontier.measures import measure
from benchmarks.frontier.mechanisms import Makers
from models.build.fetch import CACHE
from sanitizer.lm.masked import OnnxMaskedLM
from sanitizer.lm.tokens import WordPieces

N_SENTENCES, N_SENTENCES_QUICK = 250, 4
N_TEST = 2_000
"""The first of the fixed order; the classifier learns from the last and never sees these."""
TARGETS, NOMINAL = (2.0, 3.0, 5.0, 8.0, 10.0), (1.0, 6.0, 10.0, 14.0)
SHORTLIST = {"n_shortlist": 100}
VERSION = 6
"""Of what is kept; raise it when the measures change."""


@dataclass(frozen=True)
class Setting:
    """One point.

    Attributes:
        label: the curve it belongs to. mechanism: see `Makers.make`. epsilon: as set, or the exact
            one to solve for.
    """

    label: str
    mechanism: str
    epsilon: float
    options: dict[str, Any] = field(default_factory=dict)
    policy: str = "strict"
    solve: bool = False


@dataclass(frozen=True)
class Size:
    """How much is measured.

    Attributes:
        n_draws: of each sentence. n_guessed, n_inferred: see `Group`.
        n_training: clean sentences that the classifier learns from. n_group: sentences in a group.
    """

    n_draws: int = 1
    n_guessed: int = 2
    n_inferred: int = 2
    n_training: int = 4_000
    n_group: int = 5

    def sentiment(self, encoder: SentenceEncoder) -> Sentiment:
        """Return the classifier; its training vectors are kept in the build cache."""
        training = rotten_tomatoes()[-self.n_training :]
        vectors = cached_vectors(encoder, [t for t, _ in training], "rotten-tomatoes-training")
        return Sentiment(vectors, np.array([y for _, y in training]))


QUICK = Size(n_guessed=1, n_inferred=1, n_training=300, n_group=2)
Wanted = Sequence[tuple[Setting, float]]
"""Settings, each with the mechanism's own epsilon."""


def settings(quick: bool) -> Iterator[Setting]:
    """Yield all points; for --quick one or two of each kind of code."""
    for e in (5.0, 8.0) if quick else TARGETS:
        yield Setting("Cape certified", "cape certified", e)
        yield Setting("Cape certified, not demoted", "cape certified", e, {"demote_self": False})
        yield Setting("DynText certified", "dyntext certified", e)
    for e in (5.0,) if quick else TARGETS:
        yield Setting("SANTEXT", "santext", e, solve=True)
        yield Setting("exponential, shortlist", "exponential", e, SHORTLIST, solve=True)
        yield Setting("randomized response, shortlist", "randomized response", e, SHORTLIST)
        if not quick:
            yield Setting("exponential, all of Y", "exponential", e, solve=True)
            yield Setting("randomized response, all of Y", "randomized response", e)
    for e in (10.0,) if quick else NOMINAL:
        yield Setting("Cape published", "cape published", e)
        yield Setting("DynText published", "dyntext published", e)


@cache
def _bench(size: Size) -> tuple[Tools, Makers]:
    """Return one process's models."""
    model, encoder = OnnxMaskedLM(threads=1), SentenceEncoder(1)
    pieces = WordPieces(model.folder / "tokenizer.json")
    return Tools(model, pieces, encoder, size.sentiment(encoder)), Makers(model, pieces)


def measured(number: int, size: Size, wanted: Wanted) -> dict[str, Any]:
    """Return the figures of each setting on one group of sentences, and whether each original is
    classified right.
    """
    tools, makers = _bench(size)
    sentences = rotten_tomatoes()[:N_TEST][number * size.n_group : (number + 1) * size.n_group]
    group = Group(tools, sentences, "strict", size.n_guessed, size.n_inferred)
    subjects = [makers.kept(s.mechanism, own, s.options) for s, own in wanted]
    return {
        "figures": measure(group, subjects, size.n_draws),
        "clean": group.clean_accuracy.tolist(),
    }


def groups(
    n_sentences: int, size: Size, wanted: Wanted, workers: int, model: str
) -> list[dict[str, Any]]:
    """Return `measured` of all groups; those that are kept in the build cache from there."""
    parts = [VERSION, asdict(size), [[asdict(s) | {"label": ""}, own] for s, own in wanted], model]
    name = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:20]
    folder: Path = CACHE / "frontier" / name
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{i}.json" for i in range(-(-n_sentences // size.n_group))]
    missing = [i for i, path in enumerate(paths) if not path.exists()]
    if missing:
        size.sentiment(SentenceEncoder())  # before the processes, which would all make its vectors
    with processes(workers) as pool:
        n = len(missing)
        for i, found in zip(
            missing, pool.map(measured, missing, [size] * n, [wanted] * n), strict=True
        ):
            unfinished = paths[i].with_suffix(".part")
            unfinished.write_text(json.dumps(found), "utf-8")
            unfinished.rename(paths[i])
            say(f"[{i + 1}/{len(paths)}]")
    return [json.loads(path.read_text("utf-8")) for path in paths]


def entries(
    solved: Sequence[tuple[Setting, float, Exact]], found: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return an entry for each setting: epsilons, and figures per sentence."""
    rows = []
    for at, (setting, own, exact) in enumerate(solved):
        parts = [group["figures"][at] for group in found]
        figures = {name: [v for part in parts for v in part[name]] for name in parts[0]}
        entry = {"setting": asdict(setting), "own_epsilon": own, **exact.as_dict()}
        rows.append(entry | {"per_sentence": figures})
    return rows


def main() -> None:
    """Measure what is not measured yet, and write results/frontier.json."""
    line = parser(__doc__, "4 sentences, fewer settings")
    line.add_argument("--sentences", type=int)
    line.add_argument("--draws", type=int, default=1, help="of each sentence")
    line.add_argument("--workers", type=int, default=2, help="processes")
    options = line.parse_args()
    quick = options.quick
    n = options.sentences or (N_SENTENCES_QUICK if quick else N_SENTENCES)
    size = QUICK if quick else Size(n_draws=options.draws)
    model = OnnxMaskedLM()
    tools = Tools(model, WordPieces(model.folder / "tokenizer.json"))
    contexts, step = (4, 40) if quick else (40, 1)  # 40 contexts and all inputs
    training = rotten_tomatoes()[-size.n_training :]
    audits = Audits(tools, Makers(model, tools.pieces), training, contexts, step)
    solved = [
        (s, *audits.solved(s.mechanism, s.epsilon, s.options, s.solve)) for s in settings(quick)
    ]
    wanted = [(setting, own) for setting, own, _ in solved]
    found = groups(n, size, wanted, options.workers, model.sha256)
    measured_ = entries(solved, found)
    first = measured_[0]["per_sentence"]
    clean = [right for group in found for right in group["clean"]]
    comparisons = compare(measured_)
    print(*lines(comparisons), sep="\n")
    results = {
        "n_sentences": len(clean),
        "n_words": int(sum(first["n_words"])),
        "n_guessed": int(sum(first["n_guessed"])),
        "configuration": asdict(size),
        "bootstrap_seed": SEED,
        "clean_accuracy": summary({"accuracy": clean})["accuracy"],
        "rows": [
            {k: v for k, v in e.items() if k != "per_sentence"}
            | {"figures": summary(e["per_sentence"])}
            for e in measured_
        ],
        "claims": comparisons,
    }
    write("frontier", results)


if __name__ == "__main__":
    main()
