"""Attacks that read the whole sentence: `python -m benchmarks.privacy.reconstruction [--quick]`.

Held-out Rotten Tomatoes sentences, policy strict, one fresh draw of each under each mechanism. The
attackers know the mechanism with its settings, use its exact probabilities P(output | word), and a
masked LM of their own (ours) as prior over the words of Y. After "The Vulnerability of Text
Sanitization" (2410.17052): reconstruction by Bayes' rule with context.

  context alone      the likeliest word where public words are read; no output seen
  output itself      the released word
  text as released   the masked LM reads the released sentence; the mechanism is not used
  best guess         Bayes' rule, prior from the public words
  neighbours         Bayes' rule, prior from the released sentence
  joint              Bayes' rule, prior from the attacker's own reconstruction of all other words,
                     which is then guessed anew, `ROUNDS` times
  all else, unseen   every OTHER private word known, no output seen
  all else known     Bayes' rule with that knowledge: the attacker of the definition

An attacker weighs the words that its prior finds likeliest and those nearest to the output; it
never reads the original. An original outside Y counts as not found. Where a mechanism reads the
original context, the attackers put what they believe of the other words in its place. Intervals:
bootstrap over sentences, 95 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.intervals import interval, means
from benchmarks.common.machine import parser, say, write
from benchmarks.common.sentences import rotten_tomatoes
from benchmarks.frontier.groups import Group, Place, Tools
from benchmarks.frontier.mechanisms import Makers, Subject, draws
from sanitizer.lm.masked import OnnxMaskedLM, centred_rows, rows
from sanitizer.lm.tokens import WordPieces
from sanitizer.risk.posterior import ceiling

LIKELY, NEAR = 150, 100
"""Words weighed: the likeliest, and the nearest to the output."""
FEW = 5
"""One point in so many is attacked by a quick run."""
ROUNDS = 2
GROUP = 3
NAMES = (
    "context alone",
    "output itself",
    "text as released",
    "best guess",
    "neighbours",
    "joint",
    "all else, unseen",
    "all else known",
)
Floats = NDArray[np.float64]
Logits = NDArray[np.float32]
Places = NDArray[np.intp]


BEFORE = {"n_shortlist": 100, "n_top": 3, "lambda_l": 0.5}
SHORT = {3.0: 10, 5.0: 30, 8.0: 60}
"""Epsilon -> shortlist of Cape with one raised output, ranked by meaning alone."""


@dataclass(frozen=True)
class Point:
    """One mechanism at one setting; `certified`: its best guess has a ceiling."""

    label: str
    kind: str
    epsilon: float
    options: dict[str, Any]
    certified: bool = True


def short(epsilon: float) -> dict[str, Any]:
    """The staircase over a short list."""
    return {"n_shortlist": SHORT[epsilon], "n_top": 1, "lambda_l": 0.0, "profile": "staircase"}


def points() -> list[Point]:
    """Return every mechanism attacked; published Cape takes minutes for a sentence."""
    certified, medoids = "cape certified", {"profile": "medoids", "n_shortlist": 40, "n_top": 1}
    free = {"demote_self": False}
    return [
        *(Point("Cape certified, one raised", certified, e, short(e)) for e in SHORT),
        Point("Cape certified, three raised", certified, 5.0, BEFORE),
        Point("Cape certified, one raised, not demoted", certified, 5.0, short(5.0) | free),
        Point("Cape certified, medoids", certified, 5.0, medoids),
        Point("Cape certified, medoids, not demoted", certified, 5.0, medoids | free),
        Point("randomized response over 100", "randomized response", 5.0, {"n_shortlist": 100}),
        Point("DynText certified", "dyntext certified", 10.0, {}),
        Point("DynText published", "dyntext published", 6.0, {}, certified=False),
    ]


@dataclass(frozen=True)
class Reader:
    """The attacker's masked LM over the distinct words of Y."""

    tools: Tools

    def mass(self, logits: Logits) -> Floats:
        """Prior from scores over all tokens or over Y, float64 [n_words]."""
        model, vocabulary = self.tools.model, self.tools.vocabulary
        if len(logits) != len(model.output_ids):
            logits = logits[model.output_ids]
        odds = np.exp(logits.astype(np.float64) - float(logits.max()))
        floor = 1.0 / len(model.words.words)
        return np.maximum(np.bincount(vocabulary.fold, weights=odds / odds.sum()), floor)

    def around(self, group: Group, text: str, tokens: Sequence[int]) -> list[Logits]:
        """Scores over all tokens at each private word, all others being these tokens."""
        masked, pieces, model = group.masked(text), self.tools.pieces, self.tools.model
        ids, slots = masked.ids.copy(), masked.slots
        ids[slots] = tokens
        every = np.arange(len(slots))
        return self._ordered(
            list(centred_rows(0, ids, slots, slots + 1, every, pieces.mask, model.max_length))
        )

    def public(self, group: Group, text: str) -> list[Logits]:
        """Scores over all tokens at each private word, all of them hidden."""
        masked = group.masked(text)
        every = np.arange(len(masked.slots))
        return self._ordered(
            list(rows(0, masked.ids, masked.slots, every, self.tools.model.max_length))
        )

    def _ordered(self, planned: list[Any]) -> list[Logits]:
        found = {
            int(word): row
            for batch, scores in self.tools.scored(planned)
            for (_, word), row in zip(batch.units, scores, strict=True)
        }
        return [found[i] for i in sorted(found)]


class Attack:
    """One mechanism on one sentence: its outputs, and what each attacker makes of them."""

    def __init__(self, reader: Reader, group: Group, number: int, subject: Subject) -> None:
        self._reader, self._group, self._subject = reader, group, subject
        self._text, self._places = group.sentences[number][0], group.places[number]
        self._names = [str(word).lower() for word in reader.tools.vocabulary.words]
        self._outputs = [
            int(draws(subject.table([p.word], p.logits(subject.context)), 1)[0])
            for p in self._places
        ]

    def hits(self) -> dict[str, list[bool]]:
        """Whether each attacker names each private word."""
        reader, subject = self._reader, self._subject
        tokens = [int(subject.tokens[output]) for output in self._outputs]
        public: list[Logits] = [place.released for place in self._places]
        believed = reader.public(self._group, self._text) if self._reads_original else public
        seen = reader.around(self._group, self._text, tokens)
        known = [place.original for place in self._places]
        guesses = self._bayes(public, believed)
        found = {
            "context alone": self._likeliest(public),
            "text as released": self._likeliest(seen),
            "best guess": guesses,
            "neighbours": self._bayes(seen, seen),
            "all else, unseen": self._likeliest(known),
            "all else known": self._bayes(known, known),
        }
        spelled = reader.tools.model.output_ids[reader.tools.vocabulary.first]
        for _ in range(ROUNDS):
            around = reader.around(self._group, self._text, spelled[guesses].tolist())
            guesses = self._bayes(around, around)
        found["joint"] = guesses
        originals = [place.word.lower() for place in self._places]
        hits = {
            name: [self._names[i] == word for i, word in zip(chosen, originals, strict=True)]
            for name, chosen in found.items()
        }
        released = [reader.tools.tokens.texts[token] for token in tokens]
        hits["output itself"] = [a == b for a, b in zip(released, originals, strict=True)]
        return hits

    @property
    def _reads_original(self) -> bool:
        return self._subject.context == "original"

    def _likeliest(self, scores: Sequence[Logits]) -> list[int]:
        return [int(self._reader.mass(logits).argmax()) for logits in scores]

    def _bayes(self, scores: Sequence[Logits], believed: Sequence[Logits]) -> list[int]:
        """The most probable word at each place.

        Args:
            scores: the prior's. believed: the context that a mechanism read, if it read originals.
        """
        return [
            self._best(i, place, self._reader.mass(own), context)
            for i, (place, own, context) in enumerate(
                zip(self._places, scores, believed, strict=True)
            )
        ]

    def _best(self, i: int, place: Place, mass: Floats, context: Logits) -> int:
        tools, output = self._reader.tools, self._outputs[i]
        text = tools.tokens.texts[int(self._subject.tokens[output])]
        likely = np.argpartition(-mass, LIKELY)[:LIKELY]
        some = np.union1d(likely, tools.vocabulary.places(text, NEAR)).astype(np.intp)
        logits = context if self._reads_original else place.logits(self._subject.context)
        table = self._subject.table([tools.vocabulary.words[j] for j in some], logits)
        with np.errstate(divide="ignore"):
            odds = np.log(mass[some]) + table.log_column(output)
        return int(some[odds.argmax()]) if np.isfinite(odds).any() else int(mass.argmax())


def summary(
    found: Sequence[dict[str, list[bool]]], allowed: Sequence[float], public: Sequence[int]
) -> dict[str, Any]:
    """Success of each attacker, with intervals over sentences.

    Args:
        found: `Attack.hits` of each sentence. allowed: ceilings of "best guess", if any. public:
            words of each sentence that leave as they are; "all words" counts them as recovered.
    """
    of = [i for i, hits in enumerate(found) for _ in hits["joint"]]
    row: dict[str, Any] = {
        name: interval(means([float(h) for hits in found for h in hits[name]], of))
        for name in NAMES
    }
    row |= {"n_sentences": len(found), "n_words": len(of), "n_public": sum(public)}
    recovered = row["all else known"]["mean"] * len(of) + sum(public)
    row["all words"] = recovered / (len(of) + sum(public))
    return row | ({"ceiling": float(np.mean(allowed))} if allowed else {})


def main() -> None:
    """Attack, and write results/reconstruction.json."""
    line = parser(__doc__, "1 sentence, few points")
    line.add_argument("--sentences", type=int, default=40)
    options = line.parse_args()
    n = 1 if options.quick else options.sentences
    model = OnnxMaskedLM(threads=1)
    tools = Tools(model, WordPieces(model.folder / "tokenizer.json"))
    reader, makers, wanted = Reader(tools), Makers(model, tools.pieces), points()
    wanted = wanted[:: FEW if options.quick else 1]
    found: list[list[dict[str, list[bool]]]] = [[] for _ in wanted]
    allowed: list[list[float]] = [[] for _ in wanted]
    public: list[int] = []
    sentences = rotten_tomatoes()[:n]
    for begin in range(0, n, GROUP):
        group = Group(tools, sentences[begin : begin + GROUP], "strict", 0, 0)
        public += [group.masked(text).segmented.n_public for text, _ in group.sentences]
        for number, places in enumerate(group.places):
            tops = [float(reader.mass(place.released).max()) for place in places]
            for point, hits, ceilings in zip(wanted, found, allowed, strict=True):
                subject = makers.kept(point.kind, point.epsilon, point.options)
                hits.append(Attack(reader, group, number, subject).hits())
                if point.certified:
                    ceilings += [ceiling(top, point.epsilon) for top in tops]
        table = [
            vars(point) | summary(hits, ceilings, public)
            for point, hits, ceilings in zip(wanted, found, allowed, strict=True)
        ]
        say(f"{len(public)} sentences")
        write("reconstruction", {"rounds": ROUNDS, "rows": table})


if __name__ == "__main__":
    main()
