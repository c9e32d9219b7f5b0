"""Whole conversations: their exact epsilon, and APIs that write answers to learn something."""

from __future__ import annotations

from fractions import Fraction

import pytest

from benchmarks.privacy.transcripts import (
    APIS,
    EPSILON,
    OTHERS,
    VALUES,
    Forced,
    Proxied,
    Same,
    Scripted,
    View,
    _aligned,
    by_batch,
    by_filter,
    by_sanitize,
    echo,
    exact,
    guess,
    neighbours,
    paths,
    written,
)
from sanitizer import Cape
from sanitizer.lm.masked import OnnxMaskedLM

SAFE = ("echo", "guess", "respell", "labels", "numbers", "tool")


@pytest.fixture(scope="module")
def first(model: OnnxMaskedLM) -> Forced:
    return Forced(Cape(EPSILON), policy="guarded", model=model)


def test_every_outcome_of_a_draw_is_walked_with_its_probability() -> None:
    def run(source: Scripted) -> View:
        return (bytes([source.randbelow(3), source.randbelow(2)]),)

    found = dict(paths(run, EPSILON))
    assert len(found) == 6
    assert set(found.values()) == {Fraction(1, 6)}


@pytest.mark.slow
def test_a_transcript_has_the_certified_epsilon_exactly(first: Forced) -> None:
    inputs = neighbours(first, "condition", OTHERS["condition"])[:3]
    assert len(inputs) == 3
    by_text = exact(lambda v, source: by_sanitize(first, written(v), source), inputs, EPSILON)
    assert by_text["exact"] == pytest.approx(EPSILON, abs=1e-9)
    assert by_text["exact"] <= EPSILON
    by_wire = exact(lambda v, source: by_filter(first, written(v), echo, source), inputs, EPSILON)
    assert by_wire == by_text


@pytest.mark.slow
def test_names_and_years_add_nothing_whatever_the_api_guesses(first: Forced) -> None:
    for kind in ("person", "year"):
        inputs = neighbours(first, kind, OTHERS[kind][:1])
        assert len(inputs) == 2
        found = exact(
            lambda v, source: by_filter(first, written(v), guess, source), inputs, EPSILON
        )
        assert found["exact"] == 0.0


@pytest.mark.parametrize("name", SAFE)
def test_an_api_learns_nothing_from_its_own_answers(first: Forced, name: str) -> None:
    (values,) = neighbours(first, "person", OTHERS["person"][:1])[1:]
    assert _aligned(first, values, APIS[name]) == _aligned(first, VALUES, APIS[name])


def test_a_tool_that_repeats_a_guess_tells_whether_it_is_right(first: Forced) -> None:
    """Not protected: what a tool says is the user's text, and equality with it is visible."""
    (values,) = neighbours(first, "person", OTHERS["person"][:1])[1:]
    api = APIS["tool, guessing"]
    assert _aligned(first, values, api) != _aligned(first, VALUES, api)


def test_neighbours_leave_a_batch_and_the_proxy_alike(first: Forced) -> None:
    with Proxied(first) as proxied:
        for kind in ("person", "year"):
            one, two = neighbours(first, kind, OTHERS[kind][:1])
            assert by_batch(first, written(one), Same(0)) == by_batch(first, written(two), Same(0))
            sent = proxied.view(written(one), Same(0))
            assert len(sent) == 3
            assert sent == proxied.view(written(two), Same(0))
            assert VALUES[kind].encode() not in b"".join(sent)


@pytest.mark.slow
def test_a_batch_and_the_proxy_have_the_certified_epsilon_exactly(first: Forced) -> None:
    inputs = neighbours(first, "condition", OTHERS["condition"])[:2]
    assert len(inputs) == 2
    found = exact(lambda v, source: by_batch(first, written(v), source), inputs, EPSILON)
    assert found["exact"] == pytest.approx(EPSILON, abs=1e-9)
    assert found["exact"] <= EPSILON
    with Proxied(first) as proxied:
        by_wire = exact(lambda v, source: proxied.view(written(v), source), inputs, EPSILON)
    assert by_wire["exact"] == found["exact"]
    assert by_wire["n_transcripts"] == found["n_transcripts"]
