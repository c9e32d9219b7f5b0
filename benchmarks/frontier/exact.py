"""Exact epsilon of every setting, and the mechanism's own epsilon at which the exact one is as
wanted.

Nothing here depends on the sentences that are tested on: contexts come from training sentences.
What was found is kept in the build cache.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from math import inf, isinf
from typing import Any

import numpy as np

from benchmarks.common.machine import RESULTS
from benchmarks.frontier.groups import Group, Tools
from benchmarks.frontier.mechanisms import Logits, Makers, exact_epsilon
from models.build.fetch import CACHE
from sanitizer import Sanitizer
from sanitizer.risk.exact_audit import domain

CLOSE = 0.005  # nats: an exact epsilon this near to the wanted one is as wanted
N_ROUNDS = 6  # of solving for it
THEOREMS = ("cape certified", "dyntext certified", "randomized response")


@dataclass(frozen=True)
class Exact:
    """An exact epsilon in nats.

    Attributes:
        kind: "theorem": proved and met (results/audits.json); "all inputs" of one context, from the
            same file; "walked": over some inputs, so a lower bound; "not audited".
        n: inputs that were walked.
    """

    epsilon: float
    kind: str
    n: int = 0

    def as_dict(self) -> dict[str, Any]:
        """For JSON: an infinite or unknown epsilon as a string."""
        known = "inf" if isinf(self.epsilon) else self.epsilon
        shown = "unknown" if self.kind == "not audited" else known
        return {"exact_epsilon": shown, "exact_kind": self.kind, "n_audited": self.n}


class Audits:
    """Finds exact epsilons.

    Args:
        sentences: the contexts are theirs. n_contexts: how many. step: of the inputs, 1 for all.
    """

    def __init__(
        self,
        tools: Tools,
        makers: Makers,
        sentences: list[tuple[str, int]],
        n_contexts: int,
        step: int,
    ) -> None:
        self._tools, self._makers, self._sentences = tools, makers, sentences
        self._n_contexts, self._step = n_contexts, step

    @cached_property
    def _contexts(self) -> list[Logits]:
        group = Group(self._tools, self._sentences[: 1 + self._n_contexts // 5], "strict", 0, 0)
        return [p.released for places in group.places for p in places][: self._n_contexts]

    def _audited(self, context: str) -> list[tuple[list[str], Logits | None]]:
        """Inputs and scores of each audited context. The words that fit a context best are always
        among its inputs: one of them against a far one is the worst pair of every mechanism here.
        """
        outputs, step = self._tools.model.outputs, self._step
        words = domain(Sanitizer(model=self._tools.model, policy="words"))
        if context == "none":
            return [([*outputs[::step], *words[:: 25 * step]], None)]
        others = [*outputs[:: 400 * step], *words[:: 4000 * step]]
        best = [np.argsort(-logits)[:200] for logits in self._contexts]
        return [
            ([*(outputs[i] for i in fit), *others], logits)
            for fit, logits in zip(best, self._contexts, strict=True)
        ]

    def exact(self, mechanism: str, own: float, options: dict[str, Any]) -> Exact:
        """Return the exact epsilon at the mechanism's own one."""
        if mechanism in THEOREMS:
            return Exact(own, "theorem")
        if mechanism == "dyntext published":
            return Exact(inf, "theorem")
        if mechanism == "cape published":
            rows = json.loads((RESULTS / "audits.json").read_text("utf-8"))["results"]
            for row in rows:
                if (row["mechanism"], row["nominal"]) == (mechanism, own) and not options:
                    return Exact(row["exact"], "all inputs", row["n_inputs"])
            return Exact(inf, "not audited")
        subject = self._makers.make(mechanism, own, options)
        audited = self._audited(subject.context)
        n = sum(len(words) for words, _ in audited)
        found = max(exact_epsilon(subject, words, logits) for words, logits in audited)
        return Exact(found, "walked", n)

    def solved(
        self, mechanism: str, epsilon: float, options: dict[str, Any], solve: bool
    ) -> tuple[float, Exact]:
        """Return the mechanism's own epsilon, and the exact one there; from the build cache where
        it was found before.

        Args:
            solve: `epsilon` is the exact one, and the own one is solved for: the exact one grows
                nearly in proportion.
        """
        parts = [mechanism, epsilon, options, solve, self._step, self._n_contexts]
        described = json.dumps([*parts, self._tools.model.sha256], sort_keys=True)
        path = CACHE / "exact" / f"{hashlib.sha256(described.encode()).hexdigest()[:20]}.json"
        if path.exists():
            found = json.loads(path.read_text("utf-8"))
            return float(found["own"]), Exact(**found["exact"])
        own = epsilon
        exact = self.exact(mechanism, own, options)
        for _ in range(N_ROUNDS if solve else 0):
            if abs(exact.epsilon - epsilon) < CLOSE:
                break
            own *= epsilon / exact.epsilon
            exact = self.exact(mechanism, own, options)
        if exact.kind == "walked":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"own": own, "exact": vars(exact)}), "utf-8")
        return own, exact
