"""The audit finds the epsilon that is there."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from sanitizer import Cape, Sanitizer
from sanitizer.cli.display import describe_audit
from sanitizer.lm.masked import MaskedLM, OnnxMaskedLM
from sanitizer.pipeline.engines import WordMechanism
from sanitizer.privacy.dyntext import DynText
from sanitizer.risk.exact_audit import AuditReport, audit, domain
from sanitizer.testing.models import ToyBackbone

CERTIFIED = [
    Cape(3.0),
    Cape(5.0),
    Cape(5.0, profile="geometric"),
    Cape(5.0, profile="prior"),
    Cape(5.0, profile="medoids"),
    Cape(8.0, profile="medoids", demote_self=False, guess_price=0.0),
    Cape(9.0, demote_self=False, n_top=3),
    Cape(5.0, n_steps=2),
]


def audited(mechanism: WordMechanism, model: MaskedLM, n_inputs: int) -> AuditReport:
    return audit(Sanitizer(mechanism, model=model, policy="words"), n_inputs=n_inputs)


@pytest.mark.parametrize(
    "mechanism", CERTIFIED, ids=lambda m: f"{m.profile}-{m.epsilon:g}-{m.n_steps}"
)
def test_exact_is_certified(model: OnnxMaskedLM, mechanism: Cape) -> None:
    report = audited(mechanism, model, 400)
    assert report.certified == mechanism.epsilon
    assert report.exact == pytest.approx(mechanism.epsilon, abs=1e-9)
    assert report.exact <= mechanism.epsilon + 1e-12
    assert not report.complete


def test_dyntext_never_exceeds_its_certificate(model: OnnxMaskedLM) -> None:
    report = audited(DynText(8.0), model, 60)
    assert 7.0 < report.exact <= 8.0 + 1e-9


@pytest.mark.slow
def test_published_cape_exceeds_its_nominal_epsilon(model: OnnxMaskedLM) -> None:
    report = audited(Cape(1.0, variant="published"), model, 40)
    assert report.certified is None
    assert report.claimed is not None
    assert report.exact > 1.0


def test_published_dyntext_has_no_finite_epsilon(model: OnnxMaskedLM) -> None:
    report = audited(DynText(3.0, variant="published"), model, 10)
    assert math.isinf(report.exact)
    assert report.as_dict()["exact"] == "inf"
    assert "exact      inf" in describe_audit(report)


def test_a_planted_leak_is_found() -> None:
    """A mechanism that claims more than it keeps: the audit must say so."""

    class Leaky(Cape):
        def levels(self, n: int) -> tuple[list[int], list[int]]:
            levels, sizes = super().levels(n)
            return [levels[0] * 3, *levels[1:]], sizes

    toy = ToyBackbone(lambda n, m: np.zeros((n, m), dtype=np.float32))
    report = audited(Leaky(2.0, n_shortlist=30, n_top=1), toy, 300)
    assert report.certified == 2.0
    assert report.exact == pytest.approx(2.0 + math.log(3), abs=1e-9)


def test_the_whole_domain_is_large(model: OnnxMaskedLM) -> None:
    assert len(domain(Sanitizer(model=model, policy="words"))) == 100_001
    published = Sanitizer(Cape(variant="published"), model=model, policy="words")
    assert 20_000 < len(domain(published)) < 30_000


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"n_inputs": 1}, "inputs"),
        ({"position": 9}, "position"),
        ({"position": -1}, "position"),
        ({"text": "the of and", "position": 0}, "position"),
    ],
)
def test_bad_arguments_are_named(model: OnnxMaskedLM, options: dict[str, Any], name: str) -> None:
    with pytest.raises(ValueError, match=name):
        audit(Sanitizer(model=model, policy="words"), **options)
