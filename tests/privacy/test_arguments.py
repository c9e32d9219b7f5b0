"""Arguments of mechanisms and solvers: what is wrong is named."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from sanitizer.privacy.accounting import (
    Accountant,
    ApproximateEvent,
    BoundedRangeEvent,
    GaussianEvent,
    PureEvent,
    StaircaseEvent,
    ZCDPEvent,
)
from sanitizer.privacy.cape import Cape
from sanitizer.privacy.dps_mozo import DPSMOZO, solve_beta
from sanitizer.privacy.dyntext import DynText
from sanitizer.privacy.invisibleink import InvisibleInk, solve_clip_norm
from sanitizer.privacy.weights import MAX_EPSILON

NAN, INF = float("nan"), float("inf")
PUBLISHED = {"variant": "published"}
MOZO = {"n_shots": 3, "range_": 1.0}
MOZO_PUBLISHED = {"n_shots": 3, "beta": 0.1, "order": 5, **PUBLISHED}
INK = {"clip_norm": 1.0, "n_references": 3}
BETA = {"epsilon": 1.0, "delta": 1e-5, "n_tokens": 10, "n_shots": 4, "n_references": 100}
CLIP = {"epsilon": 1.0, "delta": 1e-6, "max_tokens": 10, "n_references": 3}
WORD = {"unit": "word", "relation": "replace-one"}
PURE = {"epsilon": 1.0, **WORD}
STAIRCASE = {"epsilon": 1.0, "n_top": 1, "n_outputs": 5, **WORD}
NOT_POSITIVE = (0, -1.0, NAN, INF, True, "1", None)
NO_DELTA = (1, 1.0, -1e-9, NAN, INF, True, "0.1")
NO_EPSILON = (0, -1.0, NAN, INF, MAX_EPSILON * 2, True, "5")

ROWS: list[tuple[Callable[..., object], dict[str, Any], str, tuple[object, ...]]] = [
    (PureEvent, PURE, "epsilon", NOT_POSITIVE),
    (PureEvent, PURE, "unit", ("", None)),
    (PureEvent, PURE, "relation", ("", None)),
    (ApproximateEvent, {**PURE, "delta": 0.1}, "epsilon", NOT_POSITIVE),
    (ApproximateEvent, {**PURE, "delta": 0.1}, "delta", NO_DELTA),
    (StaircaseEvent, STAIRCASE, "epsilon", NOT_POSITIVE),
    (StaircaseEvent, STAIRCASE, "n_top", (0, -1, 1.0, True, 5)),
    (StaircaseEvent, STAIRCASE, "n_outputs", (0, -1, 1.0, True)),
    (BoundedRangeEvent, {"range_": 1.0, **WORD}, "range_", NOT_POSITIVE),
    (ZCDPEvent, {"rho": 1.0, **WORD}, "rho", NOT_POSITIVE),
    (GaussianEvent, {"sigma": 1.0, **WORD}, "sigma", NOT_POSITIVE),
    (GaussianEvent, {"sigma": 1.0, **WORD}, "sensitivity", NOT_POSITIVE),
    (Accountant().epsilon, {}, "delta", NO_DELTA),
    (Cape, {}, "variant", ("proven",)),
    (Cape, {}, "context", ("all",)),
    (Cape, {}, "profile", ("flat",)),
    (Cape, {}, "backbone", ("recurrent",)),
    (Cape, {"backbone": "causal"}, "n_steps", (2,)),
    (Cape, {}, "n_steps", (0,)),
    (Cape, {}, "n_top", (0,)),
    (Cape, {}, "n_shortlist", (1,)),
    (Cape, {"n_shortlist": 9}, "n_top", (9,)),
    (Cape, {}, "n_buckets", (2.5,)),
    (Cape, {}, "top_mass", (0.0, NAN)),
    (Cape, {}, "lambda_l", (NAN,)),
    (Cape, {}, "lambda_d", (-1.0,)),
    (Cape, {}, "guess_price", (-0.1, INF)),
    (DynText, {}, "epsilon", NO_EPSILON),
    (DynText, PUBLISHED, "epsilon", NO_EPSILON),
    (DynText, {}, "variant", ("proven",)),
    (DynText, {}, "density", ("local",)),
    (DynText, {}, "list_size", ("long",)),
    (DynText, {}, "replacement", ("swap",)),
    (DynText, {}, "delta", (0, 0.0, 1, 1.0, -0.1, 2.0, NAN, "small", True)),
    (DynText, {}, "epsilon_density", (0.0, -1.0, NAN, INF, 65.0)),
    (DynText, {}, "k_max", (1, 21, 2.5, True)),
    (DynText, {}, "k_min", (0, 21, 5.0)),
    (DynText, {"k_max": 8}, "k_min", (9,)),
    (DynText, {}, "epsilon_replacement", (-0.1, 24.1, NAN)),
    (DynText, {"replacement": "noise"}, "epsilon_replacement", (0.0,)),
    (DynText, PUBLISHED, "epsilon_replacement", (1.0,)),
    (DynText, {"epsilon": 0.6, **PUBLISHED}, "epsilon_density", (0.6,)),
    (DPSMOZO, MOZO, "n_shots", (0, -1, 1.5, 5000, True)),
    (DPSMOZO, MOZO, "range_", (None, -1.0, NAN, 65.0, True)),
    (DPSMOZO, MOZO, "top_k", (0, 1.5, None)),
    (DPSMOZO, MOZO, "lambda_max", (0.0, -1.0, INF)),
    (DPSMOZO, MOZO, "variant", ("Published", "")),
    (DPSMOZO, MOZO, "beta", (0.1,)),
    (DPSMOZO, MOZO, "order", (5,)),
    (DPSMOZO, MOZO_PUBLISHED, "beta", (None, 0.0, 17.0, NAN)),
    (DPSMOZO, MOZO_PUBLISHED, "order", (None, 1, 2.5, True)),
    (DPSMOZO, MOZO_PUBLISHED, "range_", (1.0,)),
    (InvisibleInk, INK, "clip_norm", (-1.0, NAN, INF, 1e6, True, False, "1")),
    (InvisibleInk, INK, "n_references", (0, -1, 1.5, 5000, True)),
    (InvisibleInk, INK, "temperature", (0.0, -1.0, NAN, 101.0)),
    (InvisibleInk, INK, "top_k", (0, -1, 1.5)),
    (InvisibleInk, INK, "variant", ("Certified", "")),
    (solve_beta, BETA, "epsilon", (0.0,)),
    (solve_beta, BETA, "delta", (0.0, 1.5)),
    (solve_beta, BETA, "n_tokens", (0,)),
    (solve_beta, BETA, "n_shots", (0, 101)),
    (solve_beta, BETA, "order", (1,)),
    (solve_clip_norm, CLIP, "epsilon", (0.0, INF)),
    (solve_clip_norm, CLIP, "delta", (1.0, -0.1)),
    (solve_clip_norm, CLIP, "max_tokens", (0,)),
    (solve_clip_norm, CLIP, "variant", ("x",)),
]


@pytest.mark.parametrize(("make", "others", "name", "values"), ROWS)
def test_bad_arguments_are_named(
    make: Callable[..., object], others: dict[str, Any], name: str, values: tuple[object, ...]
) -> None:
    make(**others)
    for value in values:
        with pytest.raises(ValueError, match=f"{name} .*got {re.escape(repr(value))}|^{name}"):
            make(**{**others, name: value})
