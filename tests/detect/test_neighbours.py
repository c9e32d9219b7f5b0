"""Theorem B: of two conversations that differ in one thing, the same bytes leave.

The claim is in docs/guarantees.md. What neighbours share is computed from the reading alone
(`neighbours.shared`); what leaves comes from the whole program, with draws forced to one outcome.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from models.build.reader.labelled import load
from sanitizer import Policy, Sanitizer
from sanitizer.detect.units import document
from sanitizer.pipeline.classes import ClassDraws
from sanitizer.storage.vault import MemoryVault
from sanitizer.wire.filter import Filter
from tests.detect.neighbours import Pair, pairs, shared

PROMPTS = Path(__file__).resolve().parents[2] / "benchmarks" / "usefulness" / "prompts"
MOST_WORDS = 20
AROUND = ((r"(?<!\w)", r"(?!\w)"), ("", ""))
"""What stands around a value that was left: other numbers may hold its digits; Chinese has no
blanks.
"""
QUICK, NIGHTLY = 2_000, 20_000
POLICIES = [Policy.preset(name) for name in ("balanced", "deidentify", "guarded", "code")]
"""The policies with a detector; the others read no model."""
WRITTEN = (
    ("write to Lund. Marsh will come", "and what did Marsh say?"),
    ("write to J. Marsh will come", "Lund"),
    ("at Halden of Leeds", "is Halden still open?"),
    ("at quorn of Leeds", "who pays quorn"),
    ("Anna paid £1,240 on 2 January 2023 for my asthma", "is asthma worse in January"),
    ("call Chief Grace, she owes Baker 15k", "Baker again"),
    ("Ich war am 3. Mai bei Frau Müller in Köln", "Was sagte Müller?"),
    ("他叫王小明，住在上海。", "王小明几岁？"),
)


def conversations() -> Iterator[tuple[str, str]]:
    """Yield two short turns each: sentences of prompts that everybody has read."""
    yield from WRITTEN
    for name in ("open", "dev", "second_open", "third_open", "fourth_open"):
        for each in load(PROMPTS / f"{name}.txt"):
            words = each.text.replace("\n", " ").split(" ")
            first = " ".join(words[:12])
            second = " ".join(words[12:MOST_WORDS])
            if len(second) > 1:
                yield first, second


ROOT = Sanitizer()


def sent(policy: Policy, texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return what leaves of each text alone, of both turns of a conversation, and of a request."""

    def sanitizer() -> Sanitizer:
        return ROOT.derive(vault=MemoryVault(numbers="from 1"), policy=policy)

    alone = [sanitizer().sanitize(text).text for text in texts]
    both = sanitizer()
    turns = [both.sanitize(text).text for text in texts]
    request = {"model": "m", "messages": [{"role": "user", "content": t} for t in texts]}
    headers = {"content-type": "application/json"}
    body = json.dumps(request, ensure_ascii=False).encode()
    exchange = Filter(sanitizer()).request("POST", "/v1/chat/completions", headers, body)
    return (*alone, *turns, exchange.body.decode())


def compared(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare pairs, under each policy in turn."""
    monkeypatch.setattr(ClassDraws, "draw", lambda self, kind, *rest: f"some {kind.lower()}")
    detector = ROOT.inner.detector()
    assert detector is not None
    n_pairs = n_neighbours = n_same_view = n_moved = 0
    different: list[Pair] = []
    for texts in conversations():
        first = POLICIES[0]
        readings = [detector.read(text, document(text, first).taken) for text in texts]
        before: dict[str, tuple[str, ...]] = {}
        for pair in islice(pairs(texts, readings), 24):
            n_pairs += 1
            policy = POLICIES[n_pairs % len(POLICIES)]
            both = [
                (
                    shared(detector, policy, text, pair.value),
                    shared(detector, policy, other, pair.new),
                )
                for text, other in zip(pair.texts, pair.others, strict=True)
            ]
            if any(one.view != other.view for one, other in both):
                continue
            n_same_view += 1
            n_moved += any(one.others != other.others for one, other in both)
            if any(one != other for one, other in both):
                continue
            n_neighbours += 1
            if policy.name not in before:
                before[policy.name] = sent(policy, pair.texts)
            here, after = before[policy.name], sent(policy, pair.others)
            # Where the thing itself is left, its own bytes differ.
            if here != after and not any(
                [re.sub(re.escape(pair.value).join(around), "\0", each) for each in here]
                == [re.sub(re.escape(pair.new).join(around), "\0", each) for each in after]
                for around in AROUND
            ):
                different.append(pair)
        if n_pairs >= n:
            break
    print(  # noqa: T201  # the stability is what a reader of the log wants
        f"{n_pairs} pairs, {n_same_view} with the same view; in {n_moved} another word was "
        f"read differently: stability {1 - n_moved / n_same_view:.3f}; {n_neighbours} neighbours, "
        f"{len(different)} left differently"
    )
    assert not different, different[:3]
    assert n_neighbours > n_pairs // 3


def test_neighbours_leave_as_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    compared(QUICK, monkeypatch)


@pytest.mark.nightly
def test_many_neighbours_leave_as_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    compared(NIGHTLY, monkeypatch)
