"""Every method of private generation on the same reviews, with the same model, prompts and budget.

InvisibleInk and its baselines write one text from N_REFERENCES references each, at the same epsilon
for one reference; each text has references of its own. AugPE reads all of them. Neighbours differ
between methods: each row names its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Protocol

import numpy as np

from benchmarks.baselines.adapmixed import AdaPMixed
from benchmarks.baselines.amin import Amin, SparseVector
from benchmarks.baselines.augpe import AugPE
from benchmarks.baselines.next_token import REPLACE, ZERO_OUT, FewShot, ZeroShot
from benchmarks.common.sentences import SentenceEncoder
from sanitizer.lm import ByteTokens, ChatFormat, OnnxCausalLM
from sanitizer.privacy import (
    BoundedRangeEvent,
    InvisibleInk,
    Logits,
    TokenWeights,
    cost,
    largest,
    solve_clip_norm,
)
from sanitizer.randomness import Source
from sanitizer.synthesis import SYSTEM_PROMPT, AllScores, DocumentPrompts, ModelScores

N_REFERENCES, TEMPERATURE, TOP_K, DELTA = 7, 1.1, 100, 1e-6
QUERY = "Write the beginning of a film review."
ORDERS = (2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 64.0)
ROUNDS, VARIATIONS = 2, 2
SVT_THRESHOLD, SVT_SIGMA = 0.3, 0.2


class Rule(Protocol):
    """What turns scores into a distribution."""

    def weights(self, scores: Logits) -> TokenWeights:
        """See `sanitizer.decoding.base.Decoder.weights`."""


@dataclass(frozen=True)
class Method:
    """One way to write a text.

    Attributes:
        rule: None where the budget is too small to write at all. epsilon: for one reference, at
            DELTA, by an account that holds; inf if there is none. relation: the neighbours it holds
            for. reads: whether it reads references.
    """

    name: str
    rule: Rule | None
    epsilon: float
    relation: str
    settings: dict[str, Any]
    reads: bool = True


def methods(epsilon: float, max_tokens: int) -> list[Method]:
    """All that draw from scores."""
    ink = InvisibleInk(
        solve_clip_norm(epsilon, DELTA, max_tokens, N_REFERENCES, TEMPERATURE),
        N_REFERENCES,
        TEMPERATURE,
        TOP_K,
    )
    whole = InvisibleInk(ink.clip_norm, N_REFERENCES, TEMPERATURE, None)
    spent = cost(ink.event("reference", REPLACE), max_tokens, DELTA)
    found = [
        Method("zero-shot", ZeroShot(TEMPERATURE, TOP_K), 0.0, "any", {}, reads=False),
        Method("few-shot, not private", FewShot(TEMPERATURE, TOP_K), inf, "none", {}),
        Method("InvisibleInk", ink, spent, REPLACE, {"clip_norm": ink.clip_norm, "top_k": TOP_K}),
        Method(
            "InvisibleInk, whole vocabulary", whole, spent, REPLACE, {"clip_norm": ink.clip_norm}
        ),
    ]
    found += [_amin(epsilon, max_tokens, relation) for relation in (ZERO_OUT, REPLACE)]
    return [*found, _sparse(epsilon, max_tokens), _mixed(epsilon, max_tokens)]


def _amin(epsilon: float, max_tokens: int, relation: str) -> Method:
    """Every token private, at temperature 1: the largest clipping norm that the budget allows."""

    def event(range_: float) -> BoundedRangeEvent:
        return Amin.within(range_, N_REFERENCES, relation=relation).event

    rule = Amin.within(
        largest(event, epsilon, DELTA, max_tokens, 64.0), N_REFERENCES, relation=relation
    )
    settings = {"clip_norm": rule.clip_norm, "temperature": rule.temperature}
    return Method(
        "Amin et al., no sparse vector", rule, rule.epsilon(max_tokens, DELTA), relation, settings
    )


def _sparse(epsilon: float, max_tokens: int) -> Method:
    """A quarter of the tokens private, as the InvisibleInk paper sets it; no text if the sparse
    vector costs more.
    """
    least = SparseVector(
        Amin(1e-9, N_REFERENCES, relation=ZERO_OUT), SVT_THRESHOLD, SVT_SIGMA, max_tokens // 4
    )
    spent = least.epsilon(DELTA)
    assert spent > epsilon, "there is budget for the sparse vector: write texts with it"
    settings = {"threshold": SVT_THRESHOLD, "sigma": SVT_SIGMA, "max_private": max_tokens // 4}
    return Method("Amin et al., with sparse vector", None, spent, ZERO_OUT, settings)


def _mixed(epsilon: float, max_tokens: int) -> Method:
    """At the order that leaves the largest beta (a radius for each unit of the order)."""
    tried = [AdaPMixed.within(epsilon, DELTA, max_tokens, N_REFERENCES, order) for order in ORDERS]
    rule = max((r for r in tried if r is not None), key=lambda r: r.radius / r.alpha)
    settings = {"alpha": rule.alpha, "radius": rule.radius}
    return Method("AdaPMixED", rule, rule.epsilon(max_tokens, DELTA), REPLACE, settings)


@dataclass(frozen=True)
class Written:
    """One text, how long it took, and what the data-dependent account of AdaPMixED added up to (0
    for others).
    """

    text: str
    n_tokens: int
    seconds: float
    divergence: float = 0.0


class Writer:
    """Writes texts with the packaged model and the prompts of `sanitizer.synthesize`."""

    def __init__(
        self, model: OnnxCausalLM, tokens: ByteTokens, max_tokens: int, source: Source
    ) -> None:
        self._model, self._tokens, self._max_tokens, self._source = (
            model,
            tokens,
            max_tokens,
            source,
        )

    def write(self, method: Method, references: Sequence[str]) -> Written:
        """One text of a method that can write."""
        prompts = DocumentPrompts(QUERY, None, self._tokens)
        private = [prompts.private(r, 256) for r in references] if method.reads else []
        return self._drawn(method, [prompts.public, *private], prompts.end, prompts.beginning)

    def paraphrase(self, text: str) -> str:
        """Another wording of a text, by the same model."""
        chat = ChatFormat(self._tokens)
        prompt = chat.prompt(f"Rewrite this film review in other words:\n\n{text}", SYSTEM_PROMPT)
        return self._drawn(PARAPHRASE, [prompt], chat.end).text

    def _drawn(
        self,
        method: Method,
        prompts: Sequence[list[int]],
        end: frozenset[int],
        beginning: Sequence[int] = (),
    ) -> Written:
        begin, rule = time.perf_counter(), method.rule
        assert rule is not None
        n_references = max(1, len(prompts) - 1)
        few = ModelScores(self._model, prompts, n_references, beginning)
        all_ = AllScores(self._model, prompts, n_references, beginning)
        drawn: list[int] = []
        token: int | None = None
        divergence = 0.0
        while len(drawn) < self._max_tokens and token not in end:
            if isinstance(rule, InvisibleInk) and rule.top_k is not None:
                token = rule.weights(few(token)).draw(self._source)
            else:
                now = all_(token)
                divergence += rule.loss(now) if isinstance(rule, AdaPMixed) else 0.0
                token = rule.weights(now).draw(self._source)
            drawn.append(token)
        text = self._tokens.decode([t for t in drawn if t not in end])
        return Written(" ".join(text.split()), len(drawn), time.perf_counter() - begin, divergence)


PARAPHRASE = Method("paraphrase", ZeroShot(TEMPERATURE, TOP_K), 0.0, "any", {}, reads=False)


def augpe(
    writer: Writer,
    references: Sequence[str],
    n_texts: int,
    epsilon: float,
    source: Source,
    relation: str = REPLACE,
) -> tuple[AugPE, list[str], float]:
    """AugPE on all references together: the rule, its texts, and seconds."""

    def rule(precision: float) -> AugPE:
        return AugPE(1 / precision, ROUNDS, n_texts, VARIATIONS, relation)

    found = rule(largest(lambda precision: rule(precision).event, epsilon, DELTA, ROUNDS, 100.0))
    encoder: Callable[[Sequence[str]], np.ndarray] = SentenceEncoder().encode
    begin = time.perf_counter()
    first = [writer.write(PARAPHRASE, []).text for _ in range(n_texts * (1 + VARIATIONS))]
    texts = found.run(encoder(references), first, encoder, writer.paraphrase, source)
    return found, texts, time.perf_counter() - begin
