"""Compressed bodies: the same request as the plain one, and no more than the limit of it."""

from __future__ import annotations

import gzip
import sys
import tracemalloc
import zlib
from collections.abc import Callable

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from sanitizer import Sanitizer
from sanitizer.errors import RequestRefused
from sanitizer.wire.encodings import decoded
from sanitizer.wire.filter import Filter
from tests.clients.tool_calls import JSON, chat, spelled


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


Encode = Callable[[bytes], bytes]
ENCODERS: list[tuple[str, Encode]] = [
    (" GZip", gzip.compress),
    ("deflate", zlib.compress),
    ("deflate", raw_deflate),
    ("br", brotli.compress),
    ("zstd", zstandard.ZstdCompressor().compress),
    ("gzip", lambda data: gzip.compress(data[:1]) + gzip.compress(data[1:])),
]
encodings = pytest.mark.parametrize(("name", "encode"), ENCODERS)


@encodings
def test_a_compressed_request_leaves_as_the_plain_one(name: str, encode: Encode) -> None:
    body = spelled(chat("Write to anna@example.org."))
    filter_ = Filter(Sanitizer(policy="identifiers"))
    sent = [
        filter_.request("POST", "/v1/chat/completions", {**JSON, **more}, given).body
        for more, given in (({}, body), ({"content-encoding": name}, encode(body)))
    ]
    assert sent[0] == sent[1]
    assert b"anna" not in sent[0]


@encodings
@given(data=st.binary(max_size=500))
def test_what_comes_out_is_what_went_in(name: str, encode: Encode, data: bytes) -> None:
    assert decoded(name, encode(data), 1_000) == data


@encodings
def test_no_more_than_the_limit_is_ever_held(name: str, encode: Encode) -> None:
    bomb = encode(bytes(50_000_000))
    tracemalloc.start()
    try:
        with pytest.raises(RequestRefused) as refused:
            decoded(name, bomb, 100_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (refused.value.reason, refused.value.status) == ("size", 413)
    assert peak < 5_000_000


@encodings
@pytest.mark.parametrize("damage", [lambda d: b"{}", lambda d: d[: len(d) // 2], lambda d: d + d])
def test_what_is_not_so_encoded_is_refused_or_no_request(
    name: str, encode: Encode, damage: Encode
) -> None:
    body = damage(encode(spelled(chat("Write to anna@example.org."))))
    with pytest.raises(RequestRefused) as refused:
        Filter(Sanitizer(policy="identifiers")).request(
            "POST", "/v1/chat/completions", {**JSON, "content-encoding": name}, body
        )
    assert (refused.value.reason, refused.value.status) in (
        ("content-encoding", 400),
        ("json", 400),
    )
    assert "anna" not in str(refused.value)


@pytest.mark.parametrize(("name", "module"), [("br", "brotli"), ("zstd", "zstandard")])
def test_without_its_library_an_encoding_is_refused_and_the_extra_named(
    name: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(RequestRefused, match=r"dp-sanitizer\[proxy\]") as refused:
        decoded(name, b"", 1)
    assert refused.value.status == 415
