"""The points of the frontier: mechanisms, and at which epsilon."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

TARGETS = (2.0, 3.0, 5.0, 8.0, 10.0)
NOMINAL = (1.0, 6.0, 10.0, 14.0)
SHORTLIST = {"n_shortlist": 100}
CAUSAL = {"backbone": "causal"}


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

    @property
    def reads_left(self) -> bool:
        """Whether it needs the causal model."""
        return self.options.get("backbone") == "causal"

    def key(self, *circumstances: int | float | str) -> str:
        """Name under which its figures are kept; its label is no part of it."""
        described = json.dumps([asdict(self) | {"label": ""}, *circumstances], sort_keys=True)
        return hashlib.sha256(described.encode()).hexdigest()[:20]


def settings() -> Iterator[Setting]:
    """All points."""
    yield from _certified(TARGETS)
    yield from _finite(TARGETS)
    yield from _published(NOMINAL)
    for e in (10.0, 200.0, 400.0, 800.0):
        yield Setting("FBDD", "fbdd", e / 2)
    for e in TARGETS:
        yield Setting("Cape certified, causal", "cape certified", e, CAUSAL)
    for e in NOMINAL:
        yield Setting("Cape published, causal", "cape published", e, CAUSAL)
    for e in TARGETS:
        yield Setting("Cape certified, balanced", "cape certified", e, policy="words")
        yield Setting("Cape certified, prior", "cape certified", e, {"profile": "prior"})


def few_settings() -> Iterator[Setting]:
    """For --quick: one or two of each kind of code."""
    yield from _certified((5.0, 8.0))
    yield Setting("SANTEXT", "santext", 5.0, solve=True)
    yield Setting("exponential, shortlist", "exponential", 5.0, SHORTLIST, solve=True)
    yield Setting("randomized response, shortlist", "randomized response", 5.0, SHORTLIST)
    yield from _published((10.0,))
    yield Setting("FBDD", "fbdd", 200.0)
    yield Setting("Cape certified, causal", "cape certified", 5.0, CAUSAL)
    yield Setting("Cape published, causal", "cape published", 10.0, CAUSAL)


def _certified(targets: tuple[float, ...]) -> Iterator[Setting]:
    for e in targets:
        yield Setting("Cape certified", "cape certified", e)
        yield Setting("Cape certified, not demoted", "cape certified", e, {"demote_self": False})
        yield Setting("DynText certified", "dyntext certified", e)


def _finite(targets: tuple[float, ...]) -> Iterator[Setting]:
    for e in targets:
        yield Setting("SANTEXT", "santext", e, solve=True)
        yield Setting("exponential, all of Y", "exponential", e, solve=True)
        yield Setting("exponential, shortlist", "exponential", e, SHORTLIST, solve=True)
        yield Setting("randomized response, all of Y", "randomized response", e)
        yield Setting("randomized response, shortlist", "randomized response", e, SHORTLIST)


def _published(nominal: tuple[float, ...]) -> Iterator[Setting]:
    for e in nominal:
        yield Setting("Cape published", "cape published", e)
        yield Setting("DynText published", "dyntext published", e)
        yield Setting("CUSTEXT+", "custext+", e)
        yield Setting("RANTEXT", "rantext", e)
        yield Setting("SANTEXT+", "santext+", 4 * e)
