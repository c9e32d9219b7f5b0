"""Attackers who read the whole sentence find what a mechanism shows, and no more."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.frontier.groups import Group, Tools
from benchmarks.frontier.mechanisms import Makers
from benchmarks.privacy.reconstruction import NAMES, Attack, Reader, summary
from sanitizer.lm.masked import OnnxMaskedLM
from sanitizer.lm.tokens import WordPieces

TEXT = "The doctor found nothing in the old hospital."


@pytest.fixture(scope="module")
def reader(model: OnnxMaskedLM) -> Reader:
    return Reader(Tools(model, WordPieces(model.folder / "tokenizer.json")))


@pytest.fixture(scope="module")
def group(reader: Reader) -> Group:
    return Group(reader.tools, [(TEXT, 1)], "strict", 0, 0)


@pytest.mark.slow
def test_what_a_mechanism_shows_is_found(reader: Reader, group: Group) -> None:
    """Randomized response over all of Y at epsilon 60 releases every word of Y as it is."""
    makers = Makers(reader.tools.model, reader.tools.pieces)
    subject = makers.make("randomized response", 60.0, {})
    hits = Attack(reader, group, 0, subject).hits()
    assert set(hits) == set(NAMES)
    for name in ("output itself", "best guess", "neighbours", "joint", "all else known"):
        assert all(hits[name]), name
    assert not all(hits["context alone"])


@pytest.mark.slow
def test_what_tells_nothing_leaves_the_prior(reader: Reader, group: Group) -> None:
    """At an epsilon of almost 0 the guess is the prior's."""
    makers = Makers(reader.tools.model, reader.tools.pieces)
    subject = makers.make("randomized response", 1e-9, {"n_shortlist": 100})
    hits = Attack(reader, group, 0, subject).hits()
    assert hits["best guess"] == hits["context alone"]
    assert hits["all else known"] == hits["all else, unseen"]


def test_figures_are_shares_with_intervals() -> None:
    found = [{name: [True, False, False, False] for name in NAMES} for _ in range(4)]
    row = summary(found, [0.5, 0.7], [4, 4, 4, 4])
    assert row["joint"]["mean"] == 0.25
    assert row["joint"]["low"] <= 0.25 <= row["joint"]["high"]
    assert row["all words"] == pytest.approx((4 + 16) / 32)
    assert row["ceiling"] == pytest.approx(np.mean([0.5, 0.7]))
