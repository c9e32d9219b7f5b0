"""Certified Cape against its peers word by word: meaning, readability and the best guess.

    python -m benchmarks.frontier.words [--quick] [--sentences N]

Held-out Rotten Tomatoes sentences, policy strict; every figure comes from exact distributions, so
nothing is drawn. Per private word: `cosine` of the word vectors that the mechanisms choose by;
`second`, the cosine of all-MiniLM-L6-v2's input vectors of the words, which no mechanism reads;
`plausibility` (log-probability of the output in the original context); `kept`; and, at some places,
`map`, the best guess of an attacker who knows the mechanism, its settings and the context.

Two comparisons, each difference with a paired 95 % bootstrap interval over sentences: at equal
epsilon, and at equal success of the best guess, by interpolation of our curve over epsilon.
"ahead" and "behind": the whole interval is above or below zero; otherwise "tie".
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from benchmarks.common.intervals import Figures, interval, replicates
from benchmarks.common.machine import say, write
from benchmarks.common.sentence_graph import WIDTH, tensors
from benchmarks.common.sentences import rotten_tomatoes
from benchmarks.frontier.cape_tables import Covering
from benchmarks.frontier.groups import Group, Place, Tools
from benchmarks.frontier.mechanisms import Makers, Subject
from benchmarks.frontier.outputs import Tokens
from models.build.fetch import member
from sanitizer.lm import OnnxMaskedLM, WordPieces
from sanitizer.risk import guessed

EPSILONS = (2.0, 3.0, 5.0, 8.0)
FIGURES = ("cosine", "second", "plausibility", "kept", "map")
GROUP = 5  # sentences worked on together
UTILITY = ("cosine", "second", "plausibility")
SMALL = {2.0: 7, 3.0: 10, 5.0: 30, 8.0: 60}
"""Epsilon -> a shortlist that suits randomized response better than 100, and Cape's short one."""
OURS = tuple(
    f"{name}{own}"
    for name in ("medoids", "medoids for meaning", "short staircase", "staircase")
    for own in (", not demoted", "")
)
COVERED = {"profile": "medoids", "n_top": 1, "guess_price": 0.3}
CHEAP = COVERED | {"guess_price": 0.1}
"""Medoids as they are shipped for classes, and with less paid against the best guess."""
Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Point:
    """One mechanism at one setting; `certified`: comparable at equal epsilon."""

    label: str
    kind: str
    epsilon: float
    options: dict[str, Any]
    certified: bool = True


def points(epsilons: Sequence[float], published: bool) -> list[Point]:
    """Every mechanism at every setting; with those of the papers, which take most of the time."""
    found = []
    for e in epsilons:
        for demoted in (True, False):
            own = {"demote_self": demoted}
            suffix = "" if demoted else ", not demoted"
            n_shortlist, n_top = STAIRS[e]
            before = {"n_shortlist": n_shortlist, "n_top": n_top, "lambda_l": 0.5}
            short = {"n_shortlist": SMALL[e], "n_top": 1, "lambda_l": 0.0}
            stairs = own | {"profile": "staircase"}
            found += [
                Point(f"staircase{suffix}", "cape certified", e, stairs | before),
                Point(f"short staircase{suffix}", "cape certified", e, stairs | short),
                Point(f"medoids{suffix}", "cape certified", e, own | COVERED),
                Point(f"medoids for meaning{suffix}", "cape certified", e, own | CHEAP),
            ]
        for size, n in (("100", 100), ("small", SMALL[e])):
            label = f"randomized response, {size} shortlist"
            found.append(Point(label, "randomized response", e, {"n_shortlist": n}))
        found.append(Point("DynText certified", "dyntext certified", e, {}))
    of_papers = [
        Point("Cape published", "cape published", 6.0, {}, certified=False),
        Point("Cape published", "cape published", 10.0, {}, certified=False),
        Point("CUSTEXT+", "custext+", 6.0, {}, certified=False),
        Point("DynText published", "dyntext published", 6.0, {}, certified=False),
    ]
    return [*found, *of_papers] if published else found


STAIRS = {2.0: (10, 2), 3.0: (25, 2), 5.0: (100, 3), 8.0: (1000, 3)}
"""Epsilon -> shape of the staircase that was the default before."""


class SecondVectors:
    """Vectors of words that no mechanism reads: the mean of all-MiniLM-L6-v2's input vectors of the
    word's pieces, less the mean of its vocabulary, of length one.
    """

    def __init__(self, tokens: Tokens) -> None:
        self._tokenizer = Tokenizer.from_str(member("minilm", "model/tokenizer.json").decode())
        self._tokenizer.no_padding()
        inputs = tensors()["embeddings.word_embeddings.weight"]
        self._inputs = inputs - inputs.mean(axis=0)
        self._table = np.stack([self._of(text) for text in tokens.texts])

    def _of(self, text: str) -> Vectors:
        ids = self._tokenizer.encode(text, add_special_tokens=False).ids
        vector = self._inputs[ids].mean(axis=0) if ids else np.zeros(WIDTH, dtype=np.float32)
        return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-9), dtype=np.float32)

    def cosines(self, word: str) -> Vectors:
        """To every token, float32 [n_tokens]."""
        return np.asarray(self._table @ self._of(word.lower()))


def values(tokens: Tokens, second: SecondVectors, place: Place) -> NDArray[np.float64]:
    """What each token counts for, float64 [4, n_tokens]: `FIGURES` but for the last."""
    cosine, same, _, _ = tokens.compare(place.word)
    shifted = place.original - place.original.max()
    logs = shifted - np.log(np.exp(shifted).sum())
    return np.stack([cosine, second.cosines(place.word), logs, same]).astype(np.float64)


def measure(
    group: Group, subjects: Sequence[Subject], second: SecondVectors
) -> list[dict[str, list[float]]]:
    """Sums per sentence of every figure, for each subject, with the counts of words."""
    found: list[dict[str, list[float]]] = [
        {name: [0.0] * len(group.places) for name in (*FIGURES, "n_words", "n_guessed")}
        for _ in subjects
    ]
    contexts = [place.released for places in group.places for place in places]
    for subject in subjects:
        if isinstance(subject, Covering):
            subject.prepare(contexts)
    for number, places in enumerate(group.places):
        for place in places:
            worth = values(group.tools.tokens, second, place)
            for subject, figures in zip(subjects, found, strict=True):
                for name, value in _of_place(subject, place, worth).items():
                    figures[name][number] += value
    return found


def _of_place(subject: Subject, place: Place, worth: NDArray[np.float64]) -> dict[str, float]:
    logits = place.logits(subject.context)
    table = subject.table([place.word], logits)
    own = worth[:, subject.tokens[table.outputs]] @ table.p[0]
    figures = {name: float(value) for name, value in zip(FIGURES, own, strict=False)}
    figures["n_words"] = 1.0
    if place.prior is not None:
        guesses = subject.table(place.prior.words, logits)
        figures |= {"n_guessed": 1.0, "map": float(guessed(place.prior, guesses).sum())}
    return figures


def verdict(row: dict[str, float]) -> str:
    """Of one difference: where its whole interval is."""
    return "ahead" if row["low"] > 0 else "behind" if row["high"] < 0 else "tie"


def at_equal_epsilon(entries: list[tuple[Point, Figures]], label: str) -> list[dict[str, Any]]:
    """Ours less each peer at the same certified epsilon; for `map` above zero is guessed more."""
    rows = []
    mine = {point.epsilon: figures for point, figures in entries if point.label == label}
    for point, figures in entries:
        if point.label in OURS or not point.certified or point.epsilon not in mine:
            continue
        for name in (*UTILITY, "map"):
            found = interval(replicates(mine[point.epsilon], name) - replicates(figures, name))
            said = "" if name == "map" else verdict(found)
            rows.append(
                {"ours": label, "against": point.label, "epsilon": point.epsilon, "figure": name}
                | found
                | {"verdict": said}
            )
    return rows


def at_equal_guess(entries: list[tuple[Point, Figures]], label: str) -> list[dict[str, Any]]:
    """Our curve, interpolated at the best guess of each peer, less the peer; where it reaches."""
    curve = [figures for point, figures in entries if point.label == label]
    guess = np.stack([replicates(figures, "map") for figures in curve])
    order = np.argsort(guess, axis=0)
    rows = []
    for point, figures in entries:
        success = replicates(figures, "map")
        inside = guess[:, 0].min() <= success[0] <= guess[:, 0].max()
        if point.label in OURS or not inside:
            continue
        for name in UTILITY:
            ours = np.stack([replicates(each, name) for each in curve])
            at = [
                np.interp(success[i], guess[order[:, i], i], ours[order[:, i], i])
                for i in range(guess.shape[1])
            ]
            found = interval(np.array(at) - replicates(figures, name))
            rows.append(
                {
                    "ours": label,
                    "against": point.label,
                    "epsilon": point.epsilon,
                    "guess": float(success[0]),
                    "figure": name,
                }
                | found
                | {"verdict": verdict(found)}
            )
    return rows


def claims(entries: list[tuple[Point, Figures]]) -> dict[str, list[dict[str, Any]]]:
    """Both comparisons for each of `OURS`."""
    compared: dict[str, Callable[[list[tuple[Point, Figures]], str], list[dict[str, Any]]]] = {
        "at equal epsilon": at_equal_epsilon,
        "at equal best guess": at_equal_guess,
    }
    return {
        name: [row for label in OURS for row in of(entries, label)] for name, of in compared.items()
    }


def lines(found: dict[str, list[dict[str, Any]]]) -> list[str]:
    """The comparisons, one a line, for the terminal."""
    return [
        f"{name}: {row['ours']} at {row['epsilon']:g} against {row['against']}, {row['figure']}: "
        f"{row['mean']:+.3f} ({row['low']:+.3f} to {row['high']:+.3f}) {row['verdict']}"
        for name, rows in found.items()
        for row in rows
    ]


def results(wanted: Sequence[Point], measured: Sequence[Figures]) -> dict[str, Any]:
    """What the result file holds."""
    entries = list(zip(wanted, measured, strict=True))
    rows = [
        vars(point) | {name: interval(replicates(figures, name)) for name in FIGURES}
        for point, figures in entries
    ]
    return {
        "n_sentences": len(measured[0]["n_words"]),
        "n_words": int(sum(measured[0]["n_words"])),
        "n_guessed": int(sum(measured[0]["n_guessed"])),
        "rows": rows,
        "claims": claims(entries),
    }


def main() -> None:
    """Measure, and write results/words.json."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="2 sentences, epsilon 5")
    parser.add_argument("--sentences", type=int, default=60)
    parser.add_argument("--guessed", type=int, default=2, help="places of the best guess")
    parser.add_argument("--published", action="store_true", help="also the papers' algorithms")
    options = parser.parse_args()
    n, epsilons = (2, (5.0,)) if options.quick else (options.sentences, EPSILONS)
    model = OnnxMaskedLM(threads=1)
    tools = Tools(model, WordPieces(model.folder / "tokenizer.json"))
    wanted, makers = points(epsilons, options.published), Makers(model, tools.pieces)
    subjects = [makers.make(point.kind, point.epsilon, point.options) for point in wanted]
    second, measured = SecondVectors(tools.tokens), [dict[str, list[float]]() for _ in wanted]
    sentences = rotten_tomatoes()[:n]
    for begin in range(0, n, GROUP):
        group = Group(tools, sentences[begin : begin + GROUP], "strict", options.guessed, 0)
        for figures, part in zip(measured, measure(group, subjects, second), strict=True):
            for name, sums in part.items():
                figures.setdefault(name, []).extend(sums)
        say(f"{min(n, begin + GROUP)} of {n} sentences")
        if begin + GROUP >= n or begin % (5 * GROUP) == 4 * GROUP:
            keep(options, results(wanted, measured))
    print(*lines(claims(list(zip(wanted, measured, strict=True)))), sep="\n")


def keep(options: argparse.Namespace, found: dict[str, Any]) -> None:
    """Write what was measured so far: a run takes long."""
    flags = " --quick" * options.quick + " --published" * options.published
    command = (
        f"python -m benchmarks.frontier.words{flags} --sentences {found['n_sentences']} "
        f"--guessed {options.guessed}"
    )
    write("words", command, found)


if __name__ == "__main__":
    main()
