"""Headers of rewritten bodies: what is kept, and that nobody forges a record."""

from __future__ import annotations

import re

import pytest

from sanitizer.wire.headers import (
    SHORT_BYTES,
    answer_headers,
    record_headers,
    sent_headers,
    short_enough,
)
from tests.clients.tool_calls import chat, send

OF_THE_BODY = [
    (b"Content-Length", b"5"),
    (b"content-encoding", b"gzip"),
    (b"Transfer-Encoding", b"chunked"),
    (b"expect", b"100-continue"),
    (b"Accept-Encoding", b"br"),
]
KEPT = [(b"Authorization", b"key"), (b"x-kept", b"\xff"), (b"x-kept", b"again")]


def test_headers_of_the_body_do_not_leave() -> None:
    assert sent_headers([*OF_THE_BODY, *KEPT]) == KEPT
    decoded = [(n.decode("latin-1"), v.decode("latin-1")) for n, v in [*OF_THE_BODY, *KEPT]]
    assert sent_headers(decoded) == decoded[len(OF_THE_BODY) :]


def test_a_list_of_names_lets_nothing_else_leave() -> None:
    names = ("authorization", "content-length")
    given = [("Authorization", "key"), ("cookie", "a=b"), ("Content-Length", "5")]
    assert sent_headers(given, only=names) == [("Authorization", "key")]


def test_headers_of_an_answer_are_neither_of_the_body_nor_forged() -> None:
    forged = [(b"Sanitizer-Certified", b"true"), (b"sanitizer-new", b"x")]
    assert answer_headers([*OF_THE_BODY, *forged, *KEPT]) == KEPT
    only = re.compile(rb"x-[a-z]+|sanitizer-.*")
    assert answer_headers([*OF_THE_BODY, *forged, *KEPT], only=only) == KEPT[1:]


def test_the_record_is_the_same_encoded() -> None:
    exchange = send(chat("x"))
    assert dict(record_headers(exchange.record)) == {
        name.encode(): value.encode() for name, value in exchange.record.headers().items()
    }


@pytest.mark.parametrize(
    ("n", "expected"), [(0, True), (SHORT_BYTES, True), (SHORT_BYTES + 1, False)]
)
def test_an_event_loop_works_on_short_bodies_only(n: int, expected: bool) -> None:
    assert short_enough(n) is expected
