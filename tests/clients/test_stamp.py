"""The record in answers: where it is put, and that nothing else changes."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanitizer import Policy, Sanitizer
from sanitizer.clients.transport import KEY
from sanitizer.testing.server import answer
from sanitizer.text.policy import WireRules
from sanitizer.wire.filter import Filter
from tests.clients.tool_calls import EMAIL, chat, send

RECORD = {"epsilon_total": 5.0, "certified": True, "unit": "a word", "epsilon_per_unit": None}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


def stamp(document: dict[str, Any]) -> dict[str, Any]:
    return {**document, KEY: RECORD}


def stamped(body: bytes) -> bytes:
    """An answer that nothing is restored in."""
    policy = replace(Policy.preset("identifiers"), wire=WireRules(endpoints=("/models",)))
    exchange = Filter(Sanitizer(policy=policy)).request("GET", "/v1/models", {}, b"")
    return exchange.response(200, "application/json", body, stamp)


def through(body: bytes, cuts: list[int], endpoint: str = "chat/completions") -> bytes:
    request = {**chat("hello"), "input": "hello", "prompt": "hello", "stream": True}
    exchange = send(request, path=f"/v1/{endpoint}")
    stream = exchange.stream("text/event-stream", stamp)
    ends = [0, *sorted(cuts), len(body)]
    pieces = [stream.feed(body[begin:end]) for begin, end in pairwise(ends)]
    return b"".join(pieces) + stream.finish()


def documents(body: bytes) -> list[Any]:
    return [json.loads(line[6:]) for line in body.splitlines() if line.startswith(b"data: {")]


@given(st.dictionaries(st.text(), VALUES, max_size=4))
def test_an_object_has_the_record_and_all_it_had(document: dict[str, Any]) -> None:
    assert json.loads(stamped(json.dumps(document).encode())) == {**document, KEY: RECORD}


@pytest.mark.parametrize("body", [b"[1]", b"not json", b"\xff{}", b"", b'"text"'])
def test_what_is_no_object_stays(body: bytes) -> None:
    assert stamped(body) == body


def test_numbers_keep_their_spelling() -> None:
    assert b"1.50e1" in stamped(b'{"a": 1.50e1}')


@given(
    st.sampled_from(["chat/completions", "completions", "responses"]),
    st.lists(st.integers(0, 3000)),
    # what may begin "[need ...]" is held back, and comes in an event of its own
    st.text().filter(lambda text: "[" not in text),
)
def test_a_stream_has_the_record_however_it_is_cut(
    endpoint: str, cuts: list[int], text: str
) -> None:
    body = b": a comment\r\n\r\n" + b"".join(answer(endpoint, {"stream": True}, text).body)  # type: ignore[arg-type]
    cut = through(body, [min(c, len(body)) for c in cuts], endpoint)
    assert cut == through(body, [], endpoint)
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


def test_a_chunk_put_in_for_text_held_back_has_no_record() -> None:
    first = {"id": "1", "choices": [{"index": 0, "delta": {"content": "to <EMAIL"}}]}
    stream = send({**chat(EMAIL), "stream": True}).stream("text/event-stream", stamp)
    shown = stream.feed(b"data: " + json.dumps(first).encode() + b"\n\n") + stream.finish()
    stamped_chunk, held = documents(shown)
    assert stamped_chunk[KEY] == RECORD
    assert held == {
        "id": "1",
        "choices": [{"index": 0, "delta": {"content": "<EMAIL"}, "finish_reason": None}],
    }


def test_a_restored_answer_is_stamped_and_an_error_is_not() -> None:
    exchange = send(chat(f"to {EMAIL}"))
    said = {"choices": [{"message": {"content": "<EMAIL_1>"}}], KEY: "forged"}
    body = exchange.response(200, "", json.dumps(said).encode(), stamp)
    assert json.loads(body) == {"choices": [{"message": {"content": EMAIL}}], KEY: RECORD}
    error = b'{"error": {"message": "broken"}}'
    assert exchange.response(400, "", error, stamp) == error
