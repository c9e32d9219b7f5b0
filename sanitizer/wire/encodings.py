"""Bodies of requests that come compressed: read within a limit, or refused."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

from sanitizer.errors import RequestRefused

MAX_WINDOW = 8 * 2**20
"""Bytes of the largest window of zstd, as RFC 8878 recommends (3.1.1.1.2)."""
MOST = 2
"""Encodings of one body, one in the other."""


def decoded(encodings: str, body: bytes, most: int) -> bytes:
    """Return the body that a header `content-encoding` describes, undone.

    >>> import gzip
    >>> decoded("gzip", gzip.compress(b"{}"), most=2), decoded("", b"{}", most=2)
    (b'{}', b'{}')
    >>> decoded("gzip", gzip.compress(bytes(10**6)), most=2)
    Traceback (most recent call last):
    sanitizer.errors.RequestRefused: the body is longer than 2 bytes

    Args:
        encodings: value of the header: "gzip", "deflate", "br", "zstd", or two of them.
        most: bytes of the result, and of what lies between two encodings. Little more is held.

    Raises:
        RequestRefused: 413 "size"; 400 "content-encoding", a body that is not so encoded; 415
            "content-encoding", another encoding, or one whose library is not installed.
    """
    names = [name.strip() for name in encodings.lower().split(",")]
    for name in reversed(names := [name for name in names if name not in ("", "identity")]):
        if name not in _KNOWN or len(names) > MOST:
            told = "a body may be encoded as gzip, deflate, br or zstd, or be plain"
            raise RequestRefused(told, "content-encoding", 415)
        try:
            body = _KNOWN[name](body, most + 1)
        except ImportError as error:
            told = f'{name} needs {error.name}: pip install "dp-sanitizer[proxy]", or send it plain'
            raise RequestRefused(told, "content-encoding", 415) from None
        except Exception:  # each library has errors of its own; their text may quote the body
            told = f"the body is no {name}, or is cut off"
            raise RequestRefused(told, "content-encoding") from None
        if len(body) > most:
            raise RequestRefused(f"the body is longer than {most} bytes", "size", 413)
    return body


def _zlib(body: bytes, limit: int, bits: int) -> bytes:
    found = bytearray()
    while body and len(found) < limit:
        member = zlib.decompressobj(bits)
        found += member.decompress(body, limit - len(found))
        if not member.eof and len(found) < limit:
            raise EOFError
        body = member.unused_data
    return bytes(found)


def _gzip(body: bytes, limit: int) -> bytes:
    return _zlib(body, limit, 16 + zlib.MAX_WBITS)


def _deflate(body: bytes, limit: int) -> bytes:
    # With the header of zlib (RFC 9110, 8.4.1.2), or without, as some clients send it.
    has_header = len(body) > 1 and body[0] & 15 == 8 and int.from_bytes(body[:2], "big") % 31 == 0
    return _zlib(body, limit, zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS)


def _brotli(body: bytes, limit: int) -> bytes:
    import brotli

    reader = brotli.Decompressor()
    found = bytearray(reader.process(body, output_buffer_limit=limit))
    while not reader.is_finished() and len(found) < limit:
        if reader.can_accept_more_data():
            raise EOFError
        found += reader.process(b"", output_buffer_limit=limit - len(found))
    return bytes(found)


def _zstd(body: bytes, limit: int) -> bytes:
    import zstandard

    reader: Any = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW)
    found: bytes = reader.stream_reader(body, read_across_frames=True).read(limit)
    return found


_KNOWN: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
"""Name of an encoding -> function (body, limit) that undoes it, up to so many bytes."""
