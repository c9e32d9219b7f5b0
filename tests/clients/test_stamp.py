"""The record in answers: where it stands, and that nothing else changes."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanitizer.clients.stamp import KEY, Stamped, stamped
from sanitizer.testing.api_answers import answer

RECORD = {"epsilon_total": 5.0, "certified": True, "unit": "a word", "epsilon_per_unit": None}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


class Untouched:
    """A stream with nothing to restore."""

    def feed(self, data: bytes) -> bytes:
        return data

    def finish(self) -> bytes:
        return b""


def through(body: bytes, cuts: list[int]) -> bytes:
    stream, ends = Stamped(Untouched(), RECORD), [0, *sorted(cuts), len(body)]
    pieces = [stream.feed(body[begin:end]) for begin, end in pairwise(ends)]
    return b"".join(pieces) + stream.finish()


def documents(body: bytes) -> list[Any]:
    return [json.loads(line[6:]) for line in body.splitlines() if line.startswith(b"data: {")]


@given(st.dictionaries(st.text(), VALUES, max_size=4))
def test_an_object_has_the_record_and_all_it_had(document: dict[str, Any]) -> None:
    assert json.loads(stamped(json.dumps(document).encode(), RECORD)) == {**document, KEY: RECORD}


@pytest.mark.parametrize("body", [b"[1]", b"not json", b"\xff{}", b"", b'"text"'])
def test_what_is_no_object_stays(body: bytes) -> None:
    assert stamped(body, RECORD) == body


def test_numbers_keep_their_spelling() -> None:
    assert b"1.50e1" in stamped(b'{"a": 1.50e1}', RECORD)


@given(
    st.sampled_from(["chat/completions", "completions", "responses"]),
    st.lists(st.integers(0, 3000)),
    st.text(),
)
def test_a_stream_has_the_record_however_it_is_cut(
    endpoint: str, cuts: list[int], text: str
) -> None:
    body = b": a comment\r\n\r\n" + b"".join(answer(endpoint, {"stream": True}, text).body)  # type: ignore[arg-type]
    cut = through(body, [min(c, len(body)) for c in cuts])
    assert cut == through(body, [])
    before, after = documents(body), documents(cut)
    if endpoint == "responses":
        for document in before:
            if "response" in document:
                document["response"][KEY] = RECORD
    elif before:
        before[0][KEY] = RECORD
    assert after == before


def test_an_error_in_a_stream_stays() -> None:
    body = b'data: {"error": {"message": "broken"}}\n\n'
    assert through(body, []) == body
